"""Whether a person takes back what was just said: "forget that". Pure.

Like the order not to remember, it counts only where orders stand, as a whole clause at an edge of the message, and by the
orders people really give in these languages. It leaves nothing but the turn before it and its own out of what is read; who
wants it deleted asks the agent, which has `memory_forget`.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

_EDGE = 600
_ORDERS = (
    r"(?:please |no,? |ok,? |actually,? )?(?:forget|scratch|erase|delete) (?:that|this|it|what i (?:just )?said|about (?:that|it)"
    r"|everything i just said)(?: please| again| now)?",
    r"(?:bitte )?vergiss (?:das|es|dies|was ich (?:gerade |eben )?gesagt habe)(?: bitte| wieder)?",
    r"(?:por favor )?(?:esque[cç]a|esquece|apaga|apague) (?:isso|isto|o que (?:eu )?(?:acabei de dizer|disse))(?: por favor)?",
    r"(?:пожалуйста )?забудь(?:те)? (?:это|об этом|про это|что я (?:только что )?сказала?)(?: пожалуйста)?",
    r"(?:من فضلك )?ا?نسَ?ى? (?:ذلك|هذا|الأمر|الامر|ما قلته(?: للتو)?)(?: من فضلك)?",
    r"(?:请|請|麻烦)?(?:你)?(?:忘了|忘掉|忘记|忘記)(?:这个|這個|这件事|這件事|这些|那个|那件事|刚才的话|刚才说的|我刚才说的|它|吧)+",
    r"(?:今の|さっきの|これ|それ|その話|今の話|この話)(?:こと|話)?(?:は|を)?忘れて(?:ください|下さい|ね|くれ|ほしい)?",
)
_ENDS = re.compile(r"[.!?…\n。！？؟,;:、，；،–—]+")


def takes_back(text: str) -> bool:
    """True when the message orders that what was said before it is forgotten."""
    stripped = text.strip()
    if len(stripped) > 2 * _EDGE:
        stripped = f"{stripped[:_EDGE]}\n{stripped[-_EDGE:]}"
    normal = unicodedata.normalize("NFKC", stripped).casefold().replace("’", "'")
    clauses = [" ".join(part.split()) for part in _ENDS.split(normal) if part.strip()]
    return any(_order().fullmatch(one) for one in {*clauses[:1], *clauses[-1:]})


@lru_cache(maxsize=1)
def _order() -> re.Pattern[str]:
    """Made at the first message: the start of the service has no time for it."""
    return re.compile("|".join(f"(?:{one})" for one in _ORDERS))
