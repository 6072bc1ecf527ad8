"""Understanding: what lasts of sessions becomes facts, entries and learnings, by a language model where there is one."""

from memory_os.understanding.layer import Understanding

__all__ = ["Understanding"]
