"""Where orders about memory stand in a message, and how people dress them: the words alone, without all that. Pure.

"Don't remember this" and "forget that" come with a courtesy before or after, in bold, in quotation marks, as a list item,
with an emoji, with vowel signs, with characters nobody sees. `clauses_of` takes all that off, once for both kinds of order.
Speech of somebody else, code and questions are marked or left out: they are talk about remembering.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache

# Orders stand at the edges of a message; of a long one only these many characters at each end are read.
EDGE = 600
# An order is short. What is longer is not matched, so that no pattern meets a long text.
_ORDER_CHARS = 160
# Stands where code or somebody's words were: no order holds it.
_CUT = "\ue000"


@dataclass(frozen=True)
class Clause:
    """A clause of a message, folded.

    `said`: its words. `announced`: those before the colon that it follows. `closes`: whether the sentence ends with it.
    `marked`: whether a question mark stands after it.
    """

    said: str
    announced: str
    closes: bool
    marked: bool

    @cached_property
    def text(self) -> str:
        """Its words without their courtesies; empty where there is nothing else."""
        return _bare(self.said)

    @property
    def asked(self) -> bool:
        """Whether it is a question. In "…, ok?" what is asked is the courtesy."""
        return self.marked and self.said.endswith(self.text)


# -- characters ----------------------------------------------------------------------------------------------------

_APOSTROPHE = re.compile("(?<=[^\\W\\d_])[\u00b4\u2018\u2019\u02bc\u02b9\u02bb\uff07\u2032`](?=[^\\W\\d_])")
_KANA_MARKS = "\u3099\u309a"
# Letters that mean the same in everyday writing: alef maksura, ta marbuta, Persian yeh and kaf, tatweel.
_ALIKE = {"ى": "ي", "ة": "ه", "ی": "ي", "ک": "ك", "ـ": "", "ё": "е", "„": '"', "«": '"', "»": '"', "‹": '"', "›": '"'}
_QUOTES = dict.fromkeys("“”‟❝❞〝〞「」『』＂", '"') | dict.fromkeys("‘’‚‛′", "'")
_UNSEEN = frozenset("\u115f\u1160\u3164\uffa0\u2800\u034f")
_LINE_ENDS = frozenset("\n\r\v\f\x85\u2028\u2029")


class _Characters(dict[int, str]):
    """What a code point becomes: nothing where it is not seen, a comma where it is a picture, itself otherwise."""

    def __missing__(self, code: int) -> str:
        self[code] = found = _character(chr(code))
        return found


def _character(one: str) -> str:
    known = _ALIKE.get(one, _QUOTES.get(one))
    if known is not None:
        return known
    if one in _LINE_ENDS:
        return "\n"
    category = unicodedata.category(one)
    if one == _CUT:
        return one
    if one in _UNSEEN or category in ("Cf", "Cc", "Cs", "Co", "Cn"):
        return " " if one == "\t" else ""
    if category in ("Mn", "Me"):
        return one if one in _KANA_MARKS else ""
    if category == "So":
        return "" if one == "\ufffc" else "，"
    return "" if category == "Sk" and ord(one) > 0xFFFF else one


_TABLE = _Characters()


def unaccented(text: str) -> str:
    """Without accents, vowel signs and what is not seen; kana keeps its marks. Patterns of orders are written for this."""
    apart = unicodedata.normalize("NFKD", _APOSTROPHE.sub("'", text)).translate(_TABLE)
    return unicodedata.normalize("NFKC", apart)


def fold(text: str) -> str:
    """Unaccented and without case."""
    return unaccented(text).casefold()


# -- what stands around the words ----------------------------------------------------------------------------------

_CODE = re.compile(r"(```|~~~).*?(?:\1|\Z)", re.DOTALL)
_TAG = re.compile(r"</?(?:b|i|u|s|em|strong|span|p|br|div)\s*/?>")
_STRUCK = re.compile(r"~~[^~\n]+~~")
_FACE = re.compile(r"(?<!\w)(?:[:;=8]-?[)(dp*|/\\3o]|x+d+|<3|\^_?\^|:'\(|t_t|;_;|ｗ+|w{2,}|\(?笑\)?|草)(?!\w)")
_EMPHASIS = re.compile(r"[*_=]+")
_LINE_START = re.compile(r"^[ ]*(?:(?:[-+•‣◦·–—]|\(?\d{1,2}[.)]|\[[ x]?\])[ ]+)+", re.MULTILINE)
_HEADING = re.compile(r"\A\s*#{1,6}\s+")
_QUOTED_LINE = re.compile(r"^[ ]*>.*$", re.MULTILINE)
_WRAPPED = re.compile(r"""\A[\s.,!，。]*(?:"([^"]*)"|'([^"]*)'|`([^`]*)`)[\s.,!，。]*\Z""", re.DOTALL)
_QUOTED = re.compile(r"""`[^`\n]*`|"[^"]*"|(?<!\w)'[^'"\n]+'(?!\w)""")
_QUOTED_IN_LINE = re.compile(r"""`[^`\n]*`|"[^"\n]*"|(?<!\w)'[^'"\n]+'(?!\w)""")
_LOOSE = re.compile(r'["`´]')


def _undressed(text: str) -> str:
    """The folded words of a message; code, quoted lines and quotations are `_CUT`, unless the quotation is all there is."""
    text = _STRUCK.sub(_CUT, _FACE.sub(",", _TAG.sub("", fold(text))))
    text = _EMPHASIS.sub("", _QUOTED_LINE.sub(_CUT, text))
    text = _LINE_START.sub("", _HEADING.sub("", text)).strip("~〜- \n")
    wrapped = _WRAPPED.match(text)
    if wrapped is not None:
        text = next(part for part in wrapped.groups() if part is not None)
    # An inch mark, or a quotation that an edge cut through, opens nothing.
    quoted = _QUOTED if text.count('"') % 2 == 0 else _QUOTED_IN_LINE
    return _LOOSE.sub(" ", quoted.sub(_CUT, text))


# -- courtesies ----------------------------------------------------------------------------------------------------

# May stand directly before or after the order, in the same clause.
_WORDS = (
    "please", "pls", "plz", "kindly", "thanks", "thank you", "thx", "ty", "cheers", "ok", "okay", "btw", "by the way",
    "and", "but", "also", "so", "then", "just", "hey", "hermes", "again", "now", "though", "too", "ever", "mate", "dude", "bro",
    "man", "oh", "well", "actually", "anywhere", "either", "right", "alright",
    "bitte", "danke", "dankeschon", "vielen dank", "danke schon", "und", "aber", "also", "mal", "ja", "doch", "gell", "oder",
    "por favor", "pf", "pfv", "pff", "se faz favor", "faz favor", "obrigado", "obrigada", "obg", "valeu", "vlw", "e", "mas",
    "entao", "so", "ta", "ta bom", "viu", "ta bem", "sff", "se puder", "se puderes", "tambem",
    "gracias", "pero", "y", "s'il te plait", "s'il vous plait", "stp", "svp", "merci", "et", "mais", "per favore", "grazie", "ma",
    "пожалуйста", "пожалуиста", "пж", "плиз", "плз", "пжл", "пжлст", "пжста", "спасибо", "и", "но", "а", "только", "ладно", "хорошо",
    "ок", "просто",
    "заранее спасибо", "благодарю", "так что",
    "رجاء", "رجاءا", "من فضلك", "من فضلكم", "لو سمحت", "لو سمحتي", "لو سمحتم", "شكرا", "شكرا لك", "شكرا جزيلا", "ارجوك", "اذا سمحت", "و",
    "لكن", "فقط", "ايضا", "يا هرمس", "تكرما", "بليز", "ابدا",
)  # fmt: skip
# May stand there without a space.
_UNSPACED_WORDS = (
    "请", "請", "麻烦", "麻煩", "拜托", "拜託", "谢谢", "謝謝", "谢啦", "多谢", "感谢", "感謝", "但是", "但", "所以", "而且", "还有",
    "還有", "那", "另外",
    "お願いします", "お願い", "おねがいします", "ありがとう", "ありがとうございます", "どうか", "頼む", "頼みます",
    "よろしくお願いします", "よろしく",
    "すみませんが", "すみません", "でも", "あと", "だから", "なので", "ただ", "あの", "ねえ", "ちなみに", "笑",
)  # fmt: skip
# Only as a clause of their own: within one they would turn its sense.
_CLAUSES = (
    "no", "nope", "wait", "sorry", "hi", "hello", "good morning", "one more thing", "one thing", "ps", "p s", "if possible",
    "if you can", "if you would", "if you don't mind", "if that's ok", "if that's okay", "is that ok", "got it", "understood", "deal",
    "fyi",
    "seriously", "yes", "thanks a lot", "thanks so much", "thank you so much", "thank you very much", "many thanks", "much appreciated",
    "i beg you", "understand", "i mean it", "will you", "would you", "all right", "agreed", "listen", "look", "important", "note",
    "nein", "ach", "hallo", "moin", "guten morgen", "entschuldigung", "sorry", "ubrigens", "wenn moglich", "wenn es geht", "wenns geht",
    "falls moglich", "okay", "in ordnung", "alles klar", "verstanden", "wichtig", "lieben dank", "danke dir", "danke ihnen", "besten dank",
    "ach ja", "ach so", "ist das ok", "tausend dank", "danke im voraus", "hinweis",
    "nao", "ola", "oi", "bom dia", "desculpa", "desculpe", "se possivel", "muito obrigado", "muito obrigada", "agradeco", "tudo bem",
    "pode ser", "combinado", "esta bem", "importante", "ei", "olha", "alias", "a proposito", "te peco", "por gentileza", "nota",
    "нет", "извини", "извините", "привет", "здравствуи", "здравствуите", "доброе утро", "если можно", "кстати", "договорились",
    "большое спасибо", "спасибо большое", "спасибо заранее", "будь добр", "будь добра", "будьте добры", "если не сложно", "важно",
    "слушаи",
    "хорошо", "океи", "умоляю", "ой", "да",
    "لا", "نعم", "عفوا", "اسف", "مرحبا", "السلام عليكم", "اهلا", "ان امكن", "اذا امكن", "حسنا", "طيب", "تمام", "مهم", "جزيلا", "ملاحظه",
    "مع الشكر", "ممنون", "شكرا مقدما", "بالمناسبه", "لا مشكله", "اتفقنا",
    "不", "你好", "您好", "嗨", "嘿", "喂", "好吗", "好嗎", "好的", "好", "可以吗", "可以嗎", "行吗", "对了", "對了", "顺便说一下",
    "拜托了", "拜託了",
    "谢谢你", "謝謝你", "谢谢您", "谢谢啦", "谢了", "非常感谢", "注意", "重要", "ok吗", "求你了", "如果可以的话", "可以的话", "辛苦了",
    "多谢了", "哈哈",
    "いや", "ごめん", "ごめんなさい", "こんにちは", "おはよう", "ちょっと", "できれば", "可能なら", "可能であれば", "お願いね",
    "お願いだから",
    "頼むから", "ありがとうね", "どうも", "はい", "いいですか", "いいね", "いい", "申し訳ないですが", "申し訳ありませんが", "悪いけど",
    "ところで",
    "念のため", "お願いいたします", "お願い致します", "よろしくね", "了解",
    "yo", "um", "uh", "so yeah", "haha", "lol", "jaja", "kkk", "rs",
)  # fmt: skip
# "Hey buddy", "oi amigo": whoever is spoken to.
_ADDRESS = r"(?:hey|hi|hello|hallo|ola|oi|ei|hola|salut|ciao|привет|يا|مرحبا)(?: \w+){1,2}|嗨\w{1,4}|你好\w{1,4}"


@lru_cache(maxsize=1)
def _courtesies() -> tuple[frozenset[str], tuple[str, ...], frozenset[str]]:
    """Those of whole words, those that need no space, and all that may be a clause of their own."""
    words, close = frozenset(map(fold, _WORDS)), tuple(sorted(map(fold, _UNSPACED_WORDS), key=len, reverse=True))
    return words, close, frozenset((*map(fold, _CLAUSES), *words, *close))


@lru_cache(maxsize=1)
def _address() -> re.Pattern[str]:
    return re.compile(_ADDRESS)


def _bare(clause: str) -> str:
    alone = _courtesies()[2]
    if len(clause) > _ORDER_CHARS:
        return clause
    before = ""
    while clause != before:
        if clause in alone or _address().fullmatch(clause):
            return ""
        before, clause = clause, _closed(_opened(clause))
    return clause


def _opened(clause: str) -> str:
    """Without one courtesy before it."""
    words, close, _ = _courtesies()
    spoken = clause.split(" ")
    for count in range(min(3, len(spoken) - 1), 0, -1):
        if " ".join(spoken[:count]) in words:
            return " ".join(spoken[count:])
    found = next(filter(clause.startswith, close), "") if clause.startswith(close) else ""
    return clause[len(found) :].lstrip()


def _closed(clause: str) -> str:
    """Without one courtesy after it."""
    words, close, _ = _courtesies()
    spoken = clause.split(" ")
    for count in range(min(3, len(spoken) - 1), 0, -1):
        if " ".join(spoken[-count:]) in words:
            return " ".join(spoken[:-count])
    found = next(filter(clause.endswith, close), "") if clause.endswith(close) else ""
    return clause[: len(clause) - len(found)].rstrip()


# -- clauses -------------------------------------------------------------------------------------------------------

_SENTENCE_ENDS = ".!?\n。؟"
_REASON = r"because|cause|since it|weil|porque|pois|потому что|так как|لان|لانه|لانها"
_ENDS = re.compile(
    rf"(?:[.!?\n。؟,;:()\[\]{{}}|/—–،؛、~〜]|\s(?=(?:{_REASON})\s)|(?<=\s)-+(?=\s)|\s(?=[.!?\n。؟,;:،؛、]))+"
)


def clauses_of(text: str) -> list[Clause]:
    """The clauses of a message, in order; of a long one those at its edges."""
    text = text.replace(_CUT, "")
    if "```" in text or "~~~" in text:
        text = _CODE.sub(_CUT, text)
    text = text.strip()
    parts = [text] if len(text) <= 2 * EDGE else [text[:EDGE], text[-EDGE:]]
    return list(_cut("\n".join(map(_undressed, parts))))


def _cut(text: str) -> Iterator[Clause]:
    start, before, last = 0, "\n", ""
    for end in (*_ENDS.finditer(text), None):
        said = " ".join(text[start : end.start() if end else None].split())
        after = end.group() if end else "\n"
        if said:
            closes = not set(after).isdisjoint(_SENTENCE_ENDS)
            yield Clause(said, last if ":" in before else "", closes, "?" in after or "؟" in after)
            before, last = after, said
        else:
            before += after
        start = end.end() if end else len(text)


# -- where an order stands -----------------------------------------------------------------------------------------

# What comes after these and a comma or a colon is somebody's speech, or holds only in a case.
_SPEECH = (
    r"(?:.*\W)?(?:said|says|say|saying|told|tells|tell|wrote|writes|write|asked|asks|ask|whispered|whispers|replied|answered|shouted"
    r"|sings|sang|goes|went|was like|called|titled|sagt|sagte|sagen|meint|meinte|schrieb|schreibt|ruft|rief|flusterte|antwortete"
    r"|gesagt|geschrieben"
    r"|disse|dizia|diz|dizer|falou|escreveu|respondeu|pediu|perguntou|gritou|dijo|dice|dit|disait|ha detto|dice"
    r"|сказал|сказала|говорит|сказали|написал|написала|пишет|шепнул|шепнула|ответил|ответила|попросил|попросила|просит|крикнул"
    r"|قال|قالت|يقول|تقول|كتب|كتبت|قالوا|قلت|همس|اجاب)"
    r"(?: (?:to )?(?:me|us|him|her|them|you|mir|uns|ihm|ihr|zu mir|me disse|para mim|a mim|nos|мне|нам|ему|еи|لي|لنا|له|لها))?"
    r"|.*(?:说|說|说道|写道|告诉我|告訴我|问|喊|叫|回答|言った|言って|言う|書いた|書いて|聞いた|答えた)"
)
_CONDITION = (
    r"(?:if|when|whenever|unless|in case|once|wenn|falls|sobald|se|quando|caso|si|cuando|quand|если|когда|اذا|لو|عندما|حين)\W.*"
    r"|(?:如果|要是|当|當|假如|若|もし).*|.*(?:的时候|的時候|的话|場合|場合は|なら|たら|とき|時は)"
)
# With a question mark they make a statement of what stands before them.
_TAG_QUESTION = re.compile(
    r"(?:do|did|don't|didn't|does|doesn't) (?:you|we|i|they|he|she)|pois nao|nao e|ne|lembras?|nicht wahr|не так ли|правда|اليس كذلك"
    r"|是吗|是嗎|是吧|对吧|對吧|对不对|不是吗|ですよね|よね"
)
# "Sorry, don't remember this": the speaker doesn't.
_HESITANT = re.compile(r"(?:(?:oh |um+ |no )?sorry|nope|hm+|huh|um+|uh+|honestly|weird|strange|odd|haha|no idea|ah)")
_I_DO_NOT = re.compile(r"(?:don't|dont|do not|never)\b")
# Who announces an order of their own before a colon.
_ANNOUNCED = re.compile(
    r"(?:(?:very |also |and |eine |uma |sehr )?(?:please|note|important|ps|p s|nb|reminder|remember|one (?:more |last )?(?:thing"
    r"|request|favou?r)"
    r"|(?:a |my )?(?:request|rule|favou?r|wish)|bitte|wichtig|hinweis|achtung|noch (?:was|etwas|eins)|bitte beachten|importante|nota"
    r"|atencao"
    r"|obs|pedido|(?:um|so um) (?:favor|pedido)|mais uma coisa|por favor|важно|внимание|просьба|прошу|и еще|еще одно|пожалуиста"
    r"|مهم|ملاحظه|تنبيه|رجاء|طلب|hermes|attention|psst|pst|secret|geheim|segredo|секрет|سر|warning|but|private|privat|privado)"
    r"|请注意|請注意|注意|重要|提醒|请|請|另外|对了|秘密|お願い|注意点|重要なお願い|追伸|秘密|一つお願い)"
)


@lru_cache(maxsize=1)
def _reported() -> re.Pattern[str]:
    return re.compile(unaccented(f"(?:{_SPEECH})|(?:{_CONDITION})"))


def orders_of(text: str, worth: Callable[[str], bool]) -> Iterator[tuple[str, bool]]:
    """What may be an order, where one stands: a clause, or two that belong together, at the edge of a sentence.

    Each with whether it was asked. Left out: sentences that are not `worth` it, what somebody is said to have said, and what
    holds only in a case.
    """
    sentence: list[Clause] = []
    for clause in clauses_of(text):
        sentence.append(clause)
        if clause.closes:
            yield from _edges(sentence, worth)
            sentence = []
    yield from _edges(sentence, worth)


def _edges(sentence: list[Clause], worth: Callable[[str], bool]) -> Iterator[tuple[str, bool]]:
    if not worth(" ".join(clause.said for clause in sentence)):
        return
    held = [index for index, clause in enumerate(sentence) if clause.text]
    spans = {(held[0], held[0]), (held[-1], held[-1])} if held else set()
    if len(held) > 1:
        spans |= {(held[0], held[1]), (held[-2], held[-1])}
    for first, last in spans:
        words = " ".join(clause.text for clause in sentence[first : last + 1] if clause.text)
        if len(words) <= _ORDER_CHARS and _CUT not in words and not _is_told(sentence, first, last):
            yield words, sentence[last].asked


def _is_told(sentence: list[Clause], first: int, last: int) -> bool:
    """Whether it is somebody else's speech, a statement, or holds only in a case, by what stands around it."""
    announced = _bare(sentence[first].announced)
    if announced and not _ANNOUNCED.fullmatch(announced):
        return True
    after = sentence[last + 1] if last + 1 < len(sentence) else None
    if after is not None and after.marked and _TAG_QUESTION.fullmatch(after.said):
        return True
    before = sentence[first - 1].said[-_ORDER_CHARS:] if first else ""
    if _HESITANT.fullmatch(before) and _I_DO_NOT.match(sentence[first].said):
        return True
    return bool(before) and bool(sentence[first - 1].text) and _reported().fullmatch(before) is not None
