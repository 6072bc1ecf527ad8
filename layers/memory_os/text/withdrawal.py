"""Whether a person takes back what was just said: "forget that". Pure.

Like the order not to remember, it counts only where orders stand, as a whole clause at an edge of the message, and by the
orders people really give in these languages. Two degrees: `takes_back` is any of them, also those that mean "never mind"
or "delete that file"; `orders_forgetting` is a message that holds one clear order and nothing besides.
"""

from __future__ import annotations

import re
from functools import lru_cache

from memory_os.text.orders import EDGE, Clause, clauses_of, unaccented

_EN_SAID = r"(?:what i (?:just )?(?:said|told you|wrote)|everything i just said|about that|my last message)"
_DE_SAID = r"(?:was ich (?:gerade |eben )?gesagt habe|meine letzte nachricht)"
_PT_SAID = r"o que (?:eu )?(?:acabei de dizer|disse|falei)"
_RU_SAID = r"(?:то )?что я (?:только что |сеичас )?(?:сказала?|написала?)"
_ZH_SAID = r"(?:这件事|這件事|那件事|刚才的话|剛才的話|我?刚才说的话?|我?剛才說的話?)"
_JA_ASK = r"(?:ください|下さい|くださいね|ね|くれ|ほしい|欲しい|もらえますか|いただけますか|頂戴|ちょうだい|よ)?"
# Orders that can mean nothing else, as a whole message. "Forget it", "vergiss es", "انس الأمر", "忘了吧" say never mind.
_CLEAR = (
    rf"(?:(?:can|could|would) you )?(?:please )?forget (?:that|this|{_EN_SAID})",
    rf"(?:vergiss|vergesst|vergessen sie) (?:bitte )?(?:das|dies|{_DE_SAID})(?: bitte)?(?: wieder| bitte wieder)?",
    rf"(?:esqueca|esquece|esquecam|esqueca.se|esquece.te) (?:isso|isto|disso|disto|{_PT_SAID})",
    rf"забудь(?:те)? (?:это|об этом|про это|{_RU_SAID})",
    r"(?:و|ف)?ا?نسي? (?:ذلك|هذا|هذا الكلام|ما قلته(?: للتو)?)",
    rf"(?:你|您)?(?:把)?(?:忘了|忘掉|忘记|忘記){_ZH_SAID}(?:吧)?|把{_ZH_SAID}(?:忘了|忘掉|忘记|忘記)(?:吧)?",
    rf"(?:今の|さっきの|その|この)(?:話|こと|発言)(?:は|を)?忘れて{_JA_ASK}|(?:それ|これ)(?:は|を)忘れて{_JA_ASK}",
)
_ANY = (
    rf"(?:(?:can|could|would) you )?(?:please )?(?:forget|scratch|erase|delete) (?:it|about it|that|this|{_EN_SAID})",
    rf"(?:vergiss|vergesst|vergessen sie|losch|losche|loschen sie) (?:bitte )?(?:das|es|dies|{_DE_SAID})(?: bitte)?(?: wieder)?",
    rf"(?:esqueca|esquece|esquecam|apaga|apague|apaguem) (?:isso|isto|disso|disto|{_PT_SAID})",
    rf"(?:забудь|забудьте|удали|удалите) (?:это|об этом|про это|{_RU_SAID})",
    r"(?:و|ف)?(?:ا?نسي?|احذفي?) (?:ذلك|هذا|هذا الكلام|الامر|ما قلته(?: للتو)?)",
    r"(?:你|您)?(?:把)?(?:忘了|忘掉|忘记|忘記|删掉|刪掉)(?:这个|這個|这件事|這件事|这些|那个|那件事|刚才的话|刚才说的|我刚才说的|它|吧)+",
    rf"(?:今の|さっきの|これ|それ|その話|今の話|この話)(?:こと|話)?(?:は|を)?忘れて{_JA_ASK}",
)


def takes_back(text: str) -> bool:
    """True when the message orders that what was said before it is forgotten."""
    said = _bare(text)
    return any(_order().fullmatch(one.text) for one in (*said[:1], *said[-1:])) or orders_forgetting(text)


def orders_forgetting(text: str) -> bool:
    """True when the message is nothing but a clear order to forget what was said just before it."""
    if len(text) > EDGE:
        return False
    said = _bare(text)
    # "Forget, what I said" has commas in some languages.
    words = " ".join(one.text for one in said[:4])
    if _clear().fullmatch(words) is None:
        return False
    return not said[-1].asked or _ASKED.match(words) is not None


def _bare(text: str) -> list[Clause]:
    return [one for one in clauses_of(text) if one.text]


# A question that orders.
_ASKED = re.compile(r"(?:can|could|would) you |.*(?:ますか)\Z")


@lru_cache(maxsize=1)
def _clear() -> re.Pattern[str]:
    return _any_of(_CLEAR)


@lru_cache(maxsize=1)
def _order() -> re.Pattern[str]:
    """Made at the first message: the start of the service has no time for it."""
    return _any_of((*_CLEAR, *_ANY))


def _any_of(patterns: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile(unaccented("|".join(f"(?:{one})" for one in patterns)))
