"""Layer 7: the rules in SOUL.md (`block`), and what becomes of them.

`detection` says whether a tool call looks for what the turn was given, `enforcement` what is done about it, `attribution`
which lines an answer used, `watch` keeps the books, `report` reads them.
"""

from memory_os.ground_truth.block import (
    RULEBOOK_NOTE,
    RULES,
    SOUL_MAX_CHARS,
    VERSION,
    Block,
    BlockState,
    Change,
    Scanner,
    apply_block,
    back_up,
    block_state,
    cautions,
    find_block,
    remove_block,
    render,
    replace_bytes,
    seed_digest,
    with_block,
    without_block,
)

__all__ = [
    "RULEBOOK_NOTE",
    "RULES",
    "SOUL_MAX_CHARS",
    "VERSION",
    "Block",
    "BlockState",
    "Change",
    "Scanner",
    "apply_block",
    "back_up",
    "block_state",
    "cautions",
    "find_block",
    "remove_block",
    "render",
    "replace_bytes",
    "seed_digest",
    "with_block",
    "without_block",
]
