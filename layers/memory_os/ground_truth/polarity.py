"""What texts say in words that a value would say in digits: that something runs or stands still, is on or off, is there
or is not; and which branch, database or mode it has. Seven languages, pure.

Shy on purpose: only words of a closed list count, and whoever compares two texts asks for the same axis and the same
subject. A word is turned round by a negation beside it ("not running", "läuft nicht", "未启用", "稼働していません").
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

_READ_MAX_CHARS = 1000

# (axes, pole, words). A word may speak on several axes: what is "off" neither runs nor is enabled.
_WORDS: tuple[tuple[str, int, str], ...] = (
    ("run", 1, r"running|runs|started|alive|online|is up(?! to)|läuft|laufen|gestartet|a correr|a funcionar|em execução|rodando"
     r"|funcionando|corre|funciona|iniciad[oa]s?|работа(?:ет|ют)|запущен\w*|[يت]عمل|قيد التشغيل|运行|在线|已启动|稼働|動いて|動作し"
     r"|実行中|起動し"),
    ("run", -1, r"stopped|dead|exited|(?<=active: )failed|^failed$|crashed|offline|is down|gestoppt|angehalten|abgestürzt|parad[oa]s?"
     r"|interrompid[oa]s?|остановлен\w*|остановил\w*|упал\w*|متوقف\w*|توقفت?|停止|已停|停机|崩溃|离线|停止|止まって|落ちて"),
    ("run enable", 1, r"(?:active|aktiv|ativ[oa]s?)(?! ?[:=])|активн\w+|نشطة?"),
    ("run enable", -1, r"inactive|inaktiv|inativ[oa]s?|неактивн\w+|off|выключен\w*"),
    ("enable", 1, r"enabled|activated|(?:turned|switched) on|(?:is|are) on(?= *(?:$|[.,;!)]|now\b|again\b|for\b))"
     r"|(?:ist|sind) an(?= *(?:$|[.,;!]))"
     r"|(?<=[:=] )an$|aktiviert|eingeschaltet"
     r"|angeschaltet|ativad[oa]s?|habilitad[oa]s?|ligad[oa]s?|включ[её]н\w*|активирован\w*|مفعل\w*|ممكنة?|مشغلة?|启用|开启|有効|オン"),
    ("enable", -1, r"disabled|deactivated|deaktiviert|ausgeschaltet|abgeschaltet|(?:ist|sind) aus(?= *(?:$|[.,;!]))"
     r"|(?<=[:=] )aus$|desativad[oa]s?|desabilitad[oa]s?|desligad[oa]s?"
     r"|отключ[её]н\w*|деактивирован\w*|معطل\w*|禁用|关闭|停用|無効|オフ"),
    # What a setting says of itself; alone these words say too much.
    ("enable truth", 1, r"(?:(?<=[:=])|(?<=[:=] )|(?<=is )|(?<=are )|(?<=set to ))(?:true|yes|on)(?= *(?:$|[.,;!)]))"),
    ("enable truth", -1, r"(?:(?<=[:=])|(?<=[:=] )|(?<=is )|(?<=are )|(?<=set to ))(?:false|no)(?= *(?:$|[.,;!)]))"),
    ("exist", 1, r"exists?|is present|(?:lies|lives) in|is (?:kept|stored|located) in"
     r"|there (?:is|are)(?! no)|existiert|vorhanden|liegt|befindet"
     r"|gibt es|existem?|encontra-se|está na pasta|está no ficheiro|существу[ею]т|лежит|находится|имеется|موجودة?|[يت]وجد|存在|位于|放在"
     r"|あります|にある|置かれ"),
    ("exist", -1, r"no such file|there (?:is|are) no|is gone|nonexistent|deleted|gelöscht|inexistente|apagad[oa]s?"
     r"|нет такого файла|больше нет|нет(?= *(?:$|[.,!]))|удал[её]н\w*|没有那个文件|找不到|已删除|そのような|削除され"),
    ("exist install", -1, r"not found|missing|fehlt|falta|отсутству[ею]т|缺少|nicht gefunden"
     r"|não (?:foi )?encontrad[oa]s?|не найден\w*|未找到|لم يتم العثور|見つかりません"
     r"|見つからない"),
    ("install", 1, r"installed|installiert|instalad[oa]s?|установлен\w*|مثبتة?|已安装|安装在|安装了|インストールされ|インストール済"),
    ("install", -1, r"uninstalled|no module named|找不到命令|没有安装|未安装"),
)  # fmt: skip
_UNSPACED = r"\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff"
_AXES = tuple((tuple(axes.split()), pole) for axes, pole, _ in _WORDS)
# A word of an alphabet stands alone; one of Chinese or Japanese is found inside the run of characters.
_BEGIN = f"(?:(?<![^\\W{_UNSPACED}])|(?=[{_UNSPACED}]))"
_END = f"(?:(?![^\\W{_UNSPACED}])|(?<=[{_UNSPACED}]))"
_POLE = re.compile("|".join(f"(?P<p{at}>{_BEGIN}(?:{words}){_END})" for at, (_, _, words) in enumerate(_WORDS)))
# "Runs at two", "läuft jede Nacht": a habit, which nothing that stands still now speaks against.
_HABIT = re.compile(
    r"^ ?(?:(?:at|every|each|nightly|daily|weekly|before|after|when|only|um|jede\w*|alle|täglich|às|todos|todas|cada|по|кажд\w+"
    r"|كل)\b|[每毎])"
)
_NOT_BEFORE = re.compile(
    r"(?:\b(?:not|no longer|never|isn't|aren't|doesn't|wasn't|don't|nicht|keine?|não|nunca|не|لا|لم|ليست?|غير|لن)\s+(?:[^\W\d_]+\s+){0,2}"
    r"|(?:不|没有?|未|尚未|并未)[再在]?)$"
)
_NOT_AFTER = re.compile(
    r"^(?:\s+(?!und\b|oder\b|aber\b|sondern\b)[^\W\d_]+){0,3}\s+nicht\b|^[\u3040-\u309f]{0,4}(?:ません|ない|いません|ではあり?ま?せん|ではない)"
)
_TASHKEEL = re.compile("[\u064b-\u0652]")

# What a word value is said of, by name in seven languages.
_SLOTS = {
    "branch": r"branch|zweig|ramo|ветк\w+|فرع|分支|ブランチ",
    "database": r"database|datenbank|base de dados|banco de dados|баз\w+ данных|قاعدة (?:ال)?بيانات|数据库|データベース",
    "region": r"region|regi[aã]o|zone|зон\w+|регион\w*|منطقة|区域|リージョン",
    "environment": r"environment|umgebung|ambiente|окружени\w+|бيئة|环境|環境",
    "level": r"level|stufe|nível|уров\w+|مستوى|级别|レベル",
    "mode": r"mode|modus|modo|режим\w*|وضع|模式|モード",
    "channel": r"channel|kanal|canal|канал\w*|قناة|频道|チャンネル",
    "license": r"licen[cs]e|lizenz|licença|лицензи\w+|رخصة|许可证|ライセンス",
    "engine": r"engine|backend|motor|движ\w+|محرك|引擎|エンジン",
    "theme": r"theme|thema|tema|тем[аыуе]|سمة|主题|テーマ",
    "shell": r"shell|оболочк\w+|シェル",
    "editor": r"editor|редактор\w*|محرر|编辑器|エディタ",
    "format": r"format|formato|формат\w*|صيغة|格式|形式",
    "user": r"user|benutzer|utilizador|usuário|пользовател\w+|مستخدم|用户|ユーザー",
}
_SLOT = re.compile("|".join(f"(?P<{name}>{_BEGIN}(?:{words}){_END})" for name, words in _SLOTS.items()))
_WORD = r"[a-z][a-z0-9_./-]{1,40}"
_JOINS = r"(?:is|are|named|called|set to|ist|eine?|heißt|é|está|на|هي|هو|是|为|は)"
_QUOTED = rf"[`'\"«]?({_WORD})(?![a-z0-9_/-])[`'\"»]?"
# Of a word that only stands beside it ("branch main"), the clause ends there or goes on with where and when.
_CLAUSE = r"(?=\s*(?:$|[.,;:!?)）。、，]|[^\x00-\x7f]|(?:in|on|at|for|by|since|and|with|an|im|für|und|seit|em|no|na|para|e|desde)\b))"
_VALUE_AFTER = re.compile(rf"^\s*(?:(?:[:=：]|{_JOINS}\b|[はが是为])\s*{_QUOTED}|{_QUOTED}{_CLAUSE})")
# German puts its verb last: "wird aus dem Zweig stabil gebaut".
_FROM_BEFORE = re.compile(r"\b(?:aus|von|im|auf)(?: dem| der)? $")
_VERB_LAST = re.compile(rf"^ ({_WORD}) [a-zäöüß]+(?:t|en)[.!]?$")
_VALUE_BEFORE = re.compile(rf"(?:^|[^a-z0-9_./-])({_WORD})[`'\"]?[\s-]*$")
_ASSIGNED = re.compile(rf"^([^:=：]{{0,40}}?)\s*[:=：]\s*[`'\"]?({_WORD})[`'\"]?\s*[,;]?$")
# A name that no ordinary word is written like: SQLite, PostgreSQL, AGPL.
_NAME = re.compile(
    r"^[^.;:!?]{0,40}?(?:\b(?:[Ii]s|[Ii]st|é|هي|هو)\s+(?:an? |eine? |uma? )?|[是为は]\s*)([A-Za-z]*[a-z][A-Z]\w*|[A-Z]{2,}\w*)"
)
_NO_VALUE = frozenset(
    """the a an of in on at for from to and or is are was be by with as that this which it its has have der die das den dem
    des ein eine von aus auf im am zu ist mit und de do da dos das em no na para por com que e o os as é server name names
    protection switch set only new old current default""".split()  # noqa: SIM905
)


@dataclass(frozen=True, slots=True)
class Pole:
    """What one word says: `pole` 1 or -1 on an axis, and where it stands."""

    axis: str
    pole: int
    start: int
    end: int


@lru_cache(maxsize=1024)
def poles(text: str) -> tuple[Pole, ...]:
    """Everything a text says on any axis, in order."""
    return tuple(_poles(folded(text)))


def folded(text: str) -> str:
    """As poles are counted in: NFKC, casefolded, without Arabic vowel signs."""
    return _TASHKEEL.sub("", unicodedata.normalize("NFKC", text[:_READ_MAX_CHARS])).casefold().replace("’", "'")


def _poles(normal: str) -> Iterator[Pole]:
    for match in _POLE.finditer(normal):
        at = int((match.lastgroup or "p0")[1:])
        axes, pole = _AXES[at]
        if "run" in axes and _HABIT.search(normal[match.end() :]):
            continue
        turned = _NOT_BEFORE.search(normal[max(0, match.start() - 40) : match.start()]) or _NOT_AFTER.search(normal[match.end() :])
        for axis in axes:
            yield Pole(axis, -pole if turned else pole, match.start(), match.end())


@dataclass(frozen=True, slots=True)
class Slot:
    """A word value: of what, and the word. `between` are the words from the one to the other."""

    name: str
    value: str
    between: str = ""


@lru_cache(maxsize=1024)
def stated(text: str) -> tuple[Slot, ...]:
    """The word values of a sentence: `branch main`, `the main branch`, `main 分支`, `the database is SQLite`."""
    plain = unicodedata.normalize("NFKC", text[:_READ_MAX_CHARS])
    return tuple(_stated(plain, plain.casefold()))


def _stated(plain: str, normal: str) -> Iterator[Slot]:
    # Where folding changes the length, what is written like a name can't be told any more.
    plain = plain if len(plain) == len(normal) else normal
    for match in _SLOT.finditer(normal):
        name, rest = match.lastgroup or "", normal[match.end() :]
        after, before = _VALUE_AFTER.search(rest), _VALUE_BEFORE.search(normal[: match.start()])
        verb_last = _VERB_LAST.search(rest) if _FROM_BEFORE.search(normal[: match.start()]) else None
        named = _NAME.search(plain[match.end() :])
        if named and named[1].casefold() not in _NO_VALUE:
            yield Slot(name, named[1].casefold())
        for word in ((after[1] or after[2]) if after else "", before[1] if before else "", verb_last[1] if verb_last else ""):
            if word and _is_value(word.strip(".")):
                yield Slot(name, word.strip("."))


@lru_cache(maxsize=1024)
def assigned(text: str) -> tuple[Slot, ...]:
    """The word values that a line of output gives: `deploy branch = develop`, `On branch develop`."""
    normal = folded(text)
    found = []
    for match in _SLOT.finditer(normal):
        rest = normal[match.end() :]
        value = _ASSIGNED.search(rest)
        last = _VALUE_AFTER.search(rest)
        if value and _is_value(value[2]):
            found.append(Slot(match.lastgroup or "", value[2], value[1]))
        elif last and _is_value(last[1] or last[2]) and not rest[last.end() :].strip(" .;,"):
            found.append(Slot(match.lastgroup or "", last[1] or last[2]))
    return tuple(found)


def slots_named(text: str) -> frozenset[str]:
    """Of what a text speaks that can have a word value."""
    return frozenset(match.lastgroup or "" for match in _SLOT.finditer(folded(text)))


def _is_value(word: str) -> bool:
    return word not in _NO_VALUE and not poles(word) and not _SLOT.fullmatch(word)
