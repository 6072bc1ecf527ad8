"""Whether a person takes back what was just said: "forget that". Pure.

Like the order not to remember, it counts only where orders stand, as a whole clause at an edge of the message, and by the
orders people really give in these languages. Two degrees: `takes_back` is any of them, also those that mean "never mind"
or "delete that file"; `orders_forgetting` is a message that holds one clear order and nothing besides.
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
# Orders that can mean nothing else, as a whole message. "Forget it", "vergiss es", "انس الأمر", "忘了吧" say never mind.
_CLEAR = (
    r"forget (?:that|this|what i (?:just )?(?:said|told you|wrote)|everything i just said|about that|my last message)",
    r"vergiss (?:das|dies|was ich (?:gerade |eben )?gesagt habe|meine letzte nachricht)(?: wieder)?",
    r"(?:esque[cç]a|esquece) (?:isso|isto|o que (?:eu )?(?:acabei de dizer|disse))",
    r"забудь(?:те)? (?:это|об этом|про это|что я (?:только что )?сказала?)",
    r"ا?نسَ?ى? (?:ذلك|هذا|ما قلته(?: للتو)?)",
    r"(?:你)?(?:忘了|忘掉|忘记|忘記)(?:这件事|這件事|那件事|刚才的话|剛才的話|(?:我)?刚才说的(?:话)?|(?:我)?剛才說的(?:話)?)(?:吧)?",
    r"(?:今の|さっきの|その|この)(?:話|こと|発言)(?:は|を)?忘れて(?:ください|下さい|ね|くれ|ほしい)?"
    r"|(?:それ|これ)(?:は|を)忘れて(?:ください|下さい|ね|くれ|ほしい)?",
)
# What may stand around it, as a clause of its own or before and after it.
_COURTESY = (
    "please", "pls", "ok", "okay", "oh", "no", "wait", "sorry", "actually", "thanks", "thank you", "again", "now",
    "bitte", "nein", "doch", "danke", "sorry", "ach", "por favor", "não", "obrigado", "obrigada", "desculpa", "desculpe",
    "пожалуйста", "нет", "спасибо", "извини", "من فضلك", "لا", "شكرا", "عفوا", "请", "請", "麻烦", "麻煩", "不", "谢谢", "謝謝",
    "すみません", "ごめん", "お願いします", "いや",
)  # fmt: skip
_UNSPACED = re.compile("[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff]")
_ENDS = re.compile(r"[.!?…\n。！？؟,;:、，；،–—]+")


def takes_back(text: str) -> bool:
    """True when the message orders that what was said before it is forgotten."""
    stripped = text.strip()
    if len(stripped) > 2 * _EDGE:
        stripped = f"{stripped[:_EDGE]}\n{stripped[-_EDGE:]}"
    clauses = _clauses(stripped)
    return orders_forgetting(text) or any(_order().fullmatch(one) for one in {*clauses[:1], *clauses[-1:]})


def orders_forgetting(text: str) -> bool:
    """True when the message is nothing but a clear order to forget what was said just before it."""
    if len(text) > _EDGE:
        return False
    said = [one for one in map(_bare, _clauses(text)) if one]
    return len(said) == 1 and _clear().fullmatch(said[0]) is not None


def _clauses(text: str) -> list[str]:
    normal = unicodedata.normalize("NFKC", text).casefold().replace("’", "'")
    return [" ".join(part.split()) for part in _ENDS.split(normal) if part.strip()]


def _bare(clause: str) -> str:
    """A clause without its courtesies."""
    before = ""
    while clause != before:
        before = clause
        for word in _COURTESY:
            spaced = "" if _UNSPACED.match(word) else " "
            clause = "" if clause == word else clause.removeprefix(word + spaced).removesuffix(spaced + word).strip()
    return clause


@lru_cache(maxsize=1)
def _clear() -> re.Pattern[str]:
    return re.compile("|".join(f"(?:{one})" for one in _CLEAR))


@lru_cache(maxsize=1)
def _order() -> re.Pattern[str]:
    """Made at the first message: the start of the service has no time for it."""
    return re.compile("|".join(f"(?:{one})" for one in _ORDERS))
