"""From what the host holds to what may be stored: typed by the person, without our block, without secrets. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass

from memory_os.constants import MESSAGE_MAX_CHARS
from memory_os.memory import content_hash
from memory_os.redact import redact
from memory_os.text.fence import strip_fence

# The host's own writing in a user's place (hermes: agent/context_compressor.py, gateway/run_notifications.py,
# cron/scheduler_prompt.py). Nobody said it.
_COMPACTION = ("[CONTEXT COMPACTION", "[CONTEXT SUMMARY]", "[PRIOR CONTEXT")
_HARNESS = re.compile(
    r"\[(?:CONTEXT COMPACTION|CONTEXT SUMMARY\]|PRIOR CONTEXT|ASYNC |OUT-OF-BAND|SYSTEM NOTICE|System:|SYSTEM[:\]]"
    r"|Your active task list|Planning state preserved|Background process|Continuing toward |The work looks complete"
    r"|IMPORTANT: (?:The user |The \"|The following skill|Background process|\d+ background|MCP servers|You are running as))"
    r"|Cronjob Response:"
)
# Notes the host puts before a person's words: the note goes, the words stay.
_NOTE = re.compile(r"\[(?:System note|Runtime note|Note: (?:model was|Some earlier|this message came)\b)[^\]]{0,4000}\]\s*")

# A skill's body around the person's instruction (hermes: agent/skill_commands.py).
_SKILL = "[IMPORTANT: The user has invoked the "
_SKILL_BUNDLE = " skill bundle,"
_BUNDLE_INSTRUCTION = "\nUser instruction: "
_BUNDLE_FIRST_BLOCK = "\n\n[Loaded as part of the "
_SKILL_INSTRUCTION = "The user has provided the following instruction alongside the skill invocation: "
_RUNTIME_NOTE = "\n\n[Runtime note:"
_AUTO_SKILL = '[IMPORTANT: The "'
_AUTO_SKILL_END = "then run them with the terminal tool using the absolute path."

_BACKGROUND_PLATFORMS = frozenset({"cron", "subagent", "curator", "tool", "kanban", "background_review"})
_BACKGROUND_SESSIONS = ("cron_", "bg_")


@dataclass(frozen=True, slots=True)
class Cleaned:
    """`hash` is of what was said before secrets left it, so that it matches what stands in the window."""

    text: str
    hash: str
    secrets: int


def clean(role: str, raw: str) -> Cleaned:
    """A message as it may be stored; `text` is empty when nobody said anything."""
    whole = raw[:MESSAGE_MAX_CHARS]
    said = strip_fence(typed_by_user(whole) if role == "user" else spoken_by_agent(whole)).strip()
    text, secrets = redact(storable(said))
    return Cleaned(text.strip(), content_hash(said), secrets)


def storable(text: str) -> str:
    """Without NULs, and with lone surrogates replaced: SQLite stores UTF-8."""
    whole = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return whole.replace("\x00", "")


def typed_by_user(text: str) -> str:
    """The person's own words of a user message: a skill's instruction, what follows a note; "" for the host's writing."""
    text = _without_notes(text.strip())
    if text.startswith(_SKILL):
        return _skill_instruction(text)
    if text.startswith(_AUTO_SKILL) and _AUTO_SKILL_END in text:
        text = _without_notes(text.rpartition(_AUTO_SKILL_END)[2].strip())
    return "" if _HARNESS.match(text) else text


def spoken_by_agent(text: str) -> str:
    """The agent's words; "" for a compaction summary in its place."""
    return "" if text.lstrip().startswith(_COMPACTION) else text


def is_background(platform: str, session_id: str) -> bool:
    """Whether a turn is the machine talking to itself: cron, subagents, the curator, workers, background sessions."""
    return platform in _BACKGROUND_PLATFORMS or session_id.startswith(_BACKGROUND_SESSIONS)


def _without_notes(text: str) -> str:
    while (note := _NOTE.match(text)) is not None:
        text = text[note.end() :]
    return text


def _skill_instruction(text: str) -> str:
    if _SKILL_BUNDLE in text:  # a bundle puts the instruction before the skills it loads
        return text.partition(_BUNDLE_INSTRUCTION)[2].partition(_BUNDLE_FIRST_BLOCK)[0].strip()
    return text.rpartition(_SKILL_INSTRUCTION)[2].partition(_RUNTIME_NOTE)[0].strip() if _SKILL_INSTRUCTION in text else ""
