"""A text as the units that two texts are compared by: words by their stems' beginning, Han and kana one by one.

What names no aspect of a thing (question words, "use", "time", "number") is left out: a line that has everything else a
question asks for answers it. Pure.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from functools import lru_cache

from memory_os.text import query_terms
from memory_os.text.terms import is_bigram

# A common beginning of this many letters, and of this share of the longer word, makes two words one.
_STEM_LETTERS = 4
_STEM_SHARE = 0.6
_ARABIC_ARTICLE = re.compile(r"^(?:وال|بال|فال|كال|لل|ال)(?=\w{3})")
_UNSPACED_CHAR = re.compile(r"[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff]")
_HIRAGANA = re.compile(r"[\u3040-\u309f\u30fc]")
_NUMBER = re.compile(r"\d")

# Words that ask without saying of what, in the languages of the tests. Function words are gone before.
_LIGHT = frozenset(
    """
    use uses used using pick picked choose chose choosing chosen decide decided decision reason reasons keep kept long
    next number time date schedule when where which whose what why tell know say said get got give need want happen many
    much old exactly again please remind about instead previous previously earlier past notes memory info information
    details environment setting settings value period current name called go goes does make
    wann wer wie was warum welche welcher welches wohin woher wozu zahl nummer zeit datum grund nutzen nutzt verwenden
    verwendet heißt nochmal bitte sag wissen weißt haben brauchen lange
    quando quem qual quais onde como porquê porque quanto quantos número data hora prazo usar usa motivo razão fica
    lembra diga saber sabe preciso
    когда кто какой какая какое какие каком кому кого где куда почему сколько номер время дата причина использует
    использовать скажи напомни знаешь нужно
    متى أين من ما ماذا لماذا كيف كم أي اي رقم وقت تاريخ سبب هل على في
    """.split()  # noqa: SIM905
)
_LIGHT_UNSPACED = re.compile(
    "什么时候|什麼時候|多长时间|时间|時間|日期|时候|什么|什麼|多长|多久|哪天|哪里|哪个|哪一?|是谁|谁|怎么|为什么|如何|请问"
    "|何分|何時|何日|何人|何|誰|日時|日付|理由|番号は何"
    "|[的是了吗呢由在和与及其有个把被要会很我你他她它们这那就都也还]|[はがのをにでとへもやかねよ]"
)


# Each 2 to 5 kB: of some hundred turns.
@lru_cache(maxsize=1024)
def units(text: str) -> tuple[str, ...]:
    """The units of a text that say what it is about, in order, each once."""
    normal = unicodedata.normalize("NFKC", text[:4000])
    words = [_bare(term) for term in query_terms(normal) if not is_bigram(term) and not _joined(term)]
    kept = [word for word in words if word and word not in _LIGHT]
    unspaced = _LIGHT_UNSPACED.sub(" ", normal)
    chars = [char for char in _UNSPACED_CHAR.findall(unspaced) if not _HIRAGANA.match(char)]
    return tuple(dict.fromkeys([*kept, *chars]))


def missing(wanted: Iterable[str], held: Iterable[str]) -> list[str]:
    """The wanted units that are not among those held."""
    others = tuple(held)
    exact = frozenset(others)
    return [unit for unit in wanted if unit not in exact and not any(_stem(unit, other) for other in others)]


def share(wanted: Iterable[str], held: Iterable[str]) -> float:
    """How much of what is wanted is held, 0..1; nothing wanted is nothing held."""
    asked = tuple(wanted)
    return 1 - len(missing(asked, held)) / len(asked) if asked else 0.0


def same(one: str, other: str) -> bool:
    """Whether two units are one word, but for its ending. Numbers are one only when equal."""
    return one == other or _stem(one, other)


def _stem(one: str, other: str) -> bool:
    # Most pairs differ in their first letters already.
    return one[:_STEM_LETTERS] == other[:_STEM_LETTERS] and _stems(one, other)


@lru_cache(maxsize=8192)
def _stems(one: str, other: str) -> bool:
    if _NUMBER.search(one) or _NUMBER.search(other):
        return False
    shorter, longer = sorted((len(one), len(other)))
    if shorter < _STEM_LETTERS:
        return False
    common = next((at for at in range(shorter) if one[at] != other[at]), shorter)
    return common >= _STEM_SHARE * longer


def _bare(term: str) -> str:
    return _ARABIC_ARTICLE.sub("", term)


def _joined(term: str) -> bool:
    """`redis-port` beside `redis` and `port`; an address or a version stays whole."""
    return bool(re.search(r"[._/:@+#-]", term)) and not _NUMBER.search(term)
