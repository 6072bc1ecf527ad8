"""Where `memory-os` begins: while `setup.sh` replaces the package under a running command, one line and no traceback."""

from __future__ import annotations

import os
import sys
from pathlib import Path

# setup.sh keeps it in the environment during the package step; its content is that script's process id.
UPGRADING = ".upgrading"
_UNAVAILABLE = 4  # as in cli.invocation, which may be what is missing


def main() -> int:
    """Run one command; its exit code, or 4 if a module is missing for a reason that is known."""
    try:
        from memory_os_workers.cli import main as command

        return command()
    except ImportError as error:
        reason = why_missing(error, Path(sys.prefix))
        if not reason:
            raise
        sys.stderr.write(f"error: {reason}\n")
        return _UNAVAILABLE


def why_missing(error: ImportError, prefix: Path) -> str:
    """What to tell of a module that can't be imported; "" if it is neither ours nor being replaced."""
    if is_upgrading(prefix):
        return "memory-os is being upgraded; try again in a minute."
    if (error.name or "").partition(".")[0] in ("memory_os", "memory_os_workers"):
        return (
            f"{error.name} can't be imported: memory-os is being upgraded, or its setup was cut short."
            " Try again in a minute; if it stays, run `./setup.sh` again."
        )
    return ""


def is_upgrading(prefix: Path) -> bool:
    """Whether a `setup.sh` that still runs is replacing packages in this environment. A killed one's mark says nothing."""
    try:
        os.kill(int((prefix / UPGRADING).read_text("ascii")), 0)
    except PermissionError:
        return True  # another user's process: it is alive
    except (OSError, ValueError, OverflowError):
        return False
    return True
