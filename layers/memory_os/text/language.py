"""Which language a text is in, well enough to tell two apart: by script, and for Latin script by its function words."""

from __future__ import annotations

import re
from collections import Counter
from functools import lru_cache

from qdrant_edge import Bm25, Bm25Config, Language, StopwordsSet, TokenizerType

_SCRIPTS = (
    ("ja", re.compile(r"[\u3040-\u30ff]")),
    ("ko", re.compile(r"[\uac00-\ud7af]")),
    ("zh", re.compile(r"[\u3400-\u9fff\uf900-\ufaff]")),
    ("ru", re.compile(r"[\u0400-\u04ff]")),
    ("ar", re.compile(r"[\u0600-\u06ff]")),
    ("he", re.compile(r"[\u0590-\u05ff]")),
    ("hi", re.compile(r"[\u0900-\u097f]")),
    ("th", re.compile(r"[\u0e00-\u0e7f]")),
    ("el", re.compile(r"[\u0370-\u03ff]")),
)
_WORD = re.compile(r"[^\W\d_]+", re.UNICODE)

# Languages whose function words are left out of a question, and that are told apart by them.
_STOP_LANGUAGES = {
    "en": Language.English,
    "de": Language.German,
    "pt": Language.Portuguese,
    "es": Language.Spanish,
    "fr": Language.French,
    "it": Language.Italian,
    "nl": Language.Dutch,
    "ru": Language.Russian,
    "ar": Language.Arabic,
}

# Words that only ask, where the engine's lists leave them out: no answer repeats them.
_ASKING = {
    "en": "whose many much",
    "de": "wann warum wer wieso weshalb wohin woher wem wen wessen wozu wofür womit worüber wovon woran viele",
    "pt": "onde quais quanto quanta quantos quantas porquê aonde",
    "es": "cuándo dónde cómo quién quiénes cuál cuáles cuánto cuánta cuántos cuántas adónde",
    "fr": "quand où comment quel quelle quels quelles quoi pourquoi combien",
    "it": "quando quali cosa",
    "nl": "wanneer waar welke waarom hoeveel waarheen",
    "ru": "какое какие каком какого какую почему сколько откуда чей чья чьё кем кому чему кого",
    "ar": "لماذا اين اي أية",
}
_ASKING_WORDS = {name: frozenset(words.split()) for name, words in _ASKING.items()}

# A text is read up to here; a language shows itself in its first lines.
_HEAD_CHARS = 400
_MIN_SCRIPT_SHARE = 0.2


def language_of(text: str) -> str:
    """`en`, `de`, `zh`, …, or "" when the text doesn't say (a name, a number, one word of Latin script)."""
    return _language_of(text[:_HEAD_CHARS])


@lru_cache(maxsize=8192)
def _language_of(head: str) -> str:
    if not head.isascii():
        letters = sum(char.isalpha() for char in head)
        for language, script in _SCRIPTS:
            if letters and len(script.findall(head)) >= _MIN_SCRIPT_SHARE * letters:
                return language
    return _by_function_words(tuple(dict.fromkeys(word.casefold() for word in _WORD.findall(head))))[0]


# No word in the engine's lists is as long.
_FUNCTION_WORD_MAX = 40


def differ(first: str, second: str) -> bool:
    """Whether two languages are known and not the same."""
    return bool(first and second and first != second)


def function_words(words: tuple[str, ...]) -> frozenset[str]:
    """The words that are function words of the language most of `words` belong to, by the engine's own lists.

    One language only: "die" and "was" are articles in one and content in another.
    """
    return _by_function_words(words)[1]


# What a text's language and its terms have in common, one after the other; both remember their own.
@lru_cache(maxsize=128)
def _by_function_words(words: tuple[str, ...]) -> tuple[str, frozenset[str]]:
    words = tuple(dict.fromkeys(words))
    counts = Counter(name for word in words for name in _languages_with(word))
    # Of languages with as many, the first in the list.
    best = max(_STOP_LANGUAGES, key=lambda name: counts[name])
    if not counts[best]:
        return "", frozenset()
    return best, frozenset(word for word in words if best in _languages_with(word))


# 230 bytes a word.
@lru_cache(maxsize=16_384)
def _languages_with(word: str) -> tuple[str, ...]:
    """The languages in which this is a function word. Asked of the engine, whose stemmer takes a minute for a long one."""
    if len(word) > _FUNCTION_WORD_MAX:
        return ()
    return tuple(
        name
        for name, language in _STOP_LANGUAGES.items()
        if word in _ASKING_WORDS[name] or not _stopper(language).embed_query(word).indices
    )


@lru_cache(maxsize=len(_STOP_LANGUAGES))
def _stopper(language: Language) -> Bm25:
    """The engine drops its stop words before hashing, so an empty vector means `word` is one."""
    stopwords = StopwordsSet(languages={language}, custom=set())
    return Bm25(Bm25Config(tokenizer=TokenizerType.Word, stopwords=stopwords))
