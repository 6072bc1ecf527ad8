"""Terms for full-text search, the same for what is indexed and what is asked.

Scripts written without spaces (Chinese, Japanese, Thai, Lao, Khmer, Burmese) become overlapping character bigrams;
everything else stays words, which SQLite's `porter unicode61` folds and stems. Latin glued to CJK is separated.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

from memory_os.text.language import function_words
from memory_os.text.stems import stemmed

# Vowels and tones that Thai, Lao, Burmese and Khmer write as marks on a letter. `unicode61` parts words at marks, and "กิน" and "กัน"
# would be one; characters of private use are letters to it.
_VOWEL_MARKS = {
    code: 0xE000 + code % 0x1000
    for first, last in ((0x0E00, 0x0EFF), (0x1000, 0x109F), (0x1780, 0x17FF))
    for code in range(first, last + 1)
    if unicodedata.category(chr(code)) in ("Mn", "Mc")
}
# Han, kana, hangul-free: Korean is written with spaces. Thai, Lao, Burmese and Khmer are not.
_UNSPACED = "\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uff66-\uff9f\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"
_UNSPACED_RUN = re.compile(f"[{_UNSPACED}\U00020000-\U0002fa1f]+")
_WORD = re.compile(r"[^\W_]+(?:[._/:@+#-]+[^\W_]+)*[+#]*", re.UNICODE)

_PART = re.compile(r"[^\W_]+", re.UNICODE)

# What only asks in Chinese, Japanese and Thai, the longest first: no answer repeats it, nor the pairs that straddle it.
_ASKING = (
    "为什么|為什麼|什么时候|什麼時候|是什么|是什麼|什么|什麼|有多少|多少|怎么样|怎麼樣|怎么|怎麼|如何|哪里|哪裡|哪儿|哪个|哪個|哪些|哪一|何时|何時|何处|何處|何种|"
    "是谁|是誰|谁|誰|请问|請問|吗|嗎|呢"
    "|ですか|ますか|でしたか|ましたか|でしょうか|何ですか|何|なぜ|どこ|どの|どれ|どんな|いくつ|いくら|いつ"
    "|เมื่อไหร่|เมื่อไร|เท่าไหร่|เท่าไร|อย่างไร|ที่ไหน|คืออะไร|อะไร|ทำไม|ใคร|ไหน|หรือไม่|ไหม"
)

# Kana-only bigrams are mostly particles and endings: they find everything and say nothing.
_HIRAGANA = re.compile(r"^[\u3040-\u309f]+$")

MAX_QUERY_TERMS = 48

# Marks that some write and others leave out: accents that don't compose (stress in Russian), Hebrew and Arabic vowel
# signs, the Arabic stretching line.
_OPTIONAL_MARKS = re.compile("[\u0300-\u036f\u0591-\u05bd\u05bf\u05c1\u05c2\u0610-\u061a\u0640\u064b-\u065f\u0670]")


def stored_terms(text: str) -> str:
    """The text as the full-text table of the index stores it."""
    return stored_form(index_terms(text))


def stored_query(terms: list[str]) -> str:
    """An FTS5 expression that matches any of the terms in a table of `stored_terms`."""
    return fts_query([stored_form(term) for term in terms])


def stored_form(terms: str) -> str:
    """Terms with marks that `unicode61` keeps and words without their inflection. To be applied once."""
    return terms if terms.isascii() else stemmed(terms.translate(_VOWEL_MARKS))


def index_terms(text: str) -> str:
    """The terms of a text, in its order: words as they are, unspaced scripts as bigrams, a space between."""
    return _UNSPACED_RUN.sub(lambda run: f" {' '.join(_bigrams(run.group()))} ", _normalised(text))


def query_terms(text: str) -> list[str]:
    """What a question searches for: words, then bigrams, each as written and once, function words left out, at most 48.

    Of more, both kinds keep their share, and of each the first and the last: a long text asks at its ends, and what
    is Latin in a Japanese one is its name or number.
    """
    normalised = _normalised(text)
    runs = [] if normalised.isascii() else _UNSPACED_RUN.findall(_asked_about(normalised))
    grams = list(dict.fromkeys(gram for run in runs for gram in _bigrams(run) if not _HIRAGANA.match(gram)))
    words = _word_terms(normalised)
    room = MAX_QUERY_TERMS - min(len(grams), MAX_QUERY_TERMS // 2)
    words = _ends(words, room)
    return words + _ends(grams, MAX_QUERY_TERMS - len(words))


def _asked_about(normalised: str) -> str:
    """Without what only asks, if anything else of unspaced scripts is left."""
    if normalised.isascii():
        return normalised
    rest = _asking().sub(" ", normalised)
    return rest if _UNSPACED_RUN.search(rest) else normalised


@lru_cache(maxsize=1)
def _asking() -> re.Pattern[str]:
    return re.compile(_normalised(_ASKING))


def _word_terms(normalised: str) -> list[str]:
    found: dict[str, None] = {}
    spaced = normalised if normalised.isascii() else _UNSPACED_RUN.sub(" ", normalised)
    words = [word.casefold() for word in _WORD.findall(spaced)]
    stop = function_words(tuple(dict.fromkeys(words)))
    for word in words:
        parts = () if word.isalnum() else _PART.findall(word)
        if len(parts) > 1:  # "redis-port": the phrase, and each half of it
            found.update((part, None) for part in (word, *parts) if len(part) > 1)
        elif word not in stop or word[-1] in "+#":  # "c" may be a function word, "c++" isn't
            found[word] = None
    return list(found)


def _ends(terms: list[str], most: int) -> list[str]:
    if len(terms) <= most:
        return terms
    return [*terms[: most - most // 2], *terms[len(terms) - most // 2 :]]


def is_bigram(term: str) -> bool:
    """Whether a term is a piece of an unspaced run, not a word."""
    return bool(_UNSPACED_RUN.fullmatch(term))


def fts_query(terms: list[str]) -> str:
    """An FTS5 expression that matches any of the terms. Each is quoted: user text is never query syntax."""
    return " OR ".join('"' + term.replace('"', '""') + '"' for term in terms)


def _normalised(text: str) -> str:
    return text if text.isascii() else _OPTIONAL_MARKS.sub("", unicodedata.normalize("NFKC", text))


def _bigrams(run: str) -> list[str]:
    return [run] if len(run) == 1 else [run[i : i + 2] for i in range(len(run) - 1)]
