"""What one curation may cost, and how much a model reads at once. Pure."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Limits"]

_PART_TOKENS_MAX, _PART_TOKENS_MIN = 6000, 400
_DRAFT_OUTPUT_TOKENS = 4096
# What the rules, the vocabulary and the list of known pages take of the context.
_OVERHEAD_TOKENS = 2500


@dataclass(frozen=True, slots=True)
class Limits:
    """`units`: of one file, over all runs. `allowance`: of this run. `context_tokens`: what the model takes. `small`: it is
    asked for names only (naming.py)."""

    units: float
    allowance: float = float("inf")
    context_tokens: int = 32_000
    small: bool = False

    @property
    def part_tokens(self) -> int:
        room = (self.context_tokens - self.draft_output - _OVERHEAD_TOKENS) * 3 // 4
        return max(min(room, _PART_TOKENS_MAX), _PART_TOKENS_MIN)

    @property
    def draft_output(self) -> int:
        return min(_DRAFT_OUTPUT_TOKENS, self.context_tokens // 4)
