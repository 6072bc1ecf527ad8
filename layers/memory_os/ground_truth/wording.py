"""What a user's words say about a search: that they asked for one, or for what is so now. Seven languages, pure.

Both only ever excuse a call: whoever is misread gets their search.
"""

from __future__ import annotations

import re
import unicodedata

_LATIN_SEARCH = (
    # English
    r"search(?:es|ed|ing)?|look(?:ing)? (?:it |this |that |them )?(?:up|through|into|in|at)|look for|(?:double|re)?-?check(?: again)?"
    r"|verify|confirm|grep|browse|scan|go through|dig (?:through|up)|find (?:the|all|every|our|me|any|out)"
    r"|(?:re-?)?read|open|cat|list (?:the|all|every)|show me|query|pull up|fetch|run (?:a|the|that|this)"
    # German
    r"|such(?:e|st|t|en)?|durchsuch(?:e|en)?|nachschlagen|nachschauen|nachsehen|schau(?:e)? .{0,40}?nach|sieh .{0,30}?nach"
    r"|(?:über|nach)?prüf(?:e|en|st)?|verifizier(?:e|en)|lies|lese|lesen|öffne|öffnen|zeig(?:e)? mir|finde? (?:alle|die|den|das|mal)"
    # Portuguese
    r"|procur(?:e|a|ar)|pesquis(?:e|a|ar)|busqu(?:e|es)|busca(?:r)?|verifi(?:que|ca|car)|confir(?:a|e|ir)|confirm(?:e|a|ar)"
    r"|consult(?:e|a|ar)|leia|ler|abr(?:a|e|ir)|mostr(?:e|a)-?me|vasculh(?:e|a|ar)|encontr(?:e|a) (?:todos|todas|o|a|os|as)"
)
_SEARCH = re.compile(
    rf"\b(?:{_LATIN_SEARCH})\b"
    # Russian
    r"|\b(?:най(?:ди|дите|ти)|поищи(?:те)?|поиск\w*|искать|ищи|посмотри(?:те)?|глян(?:ь|ьте)|проверь(?:те)?|проверить"
    r"|перепроверь(?:те)?|прочитай(?:те)?|прочти|открой(?:те)?|сверь(?:те|ся)?|покажи(?:те)?)\b"
    # Arabic
    r"|\b(?:ابحث|إبحث|فتش|تحقق|تأكد|راجع|اقرأ|افتح|استعرض|أرني|دقق|اعثر)\b"
    # Chinese
    r"|搜索|搜一下|搜尋|查找|查一?[下查]|查询|查看|检查|核实|核对|确认|读取|读一下|打开|翻一?[下翻]|找一?[下找]|检索"
    # Japanese
    r"|検索|調べ|探し|確認し|確かめ|読ん|読み|開い|見て|見直|照合"
)
_NOW = re.compile(
    # English
    r"\b(?:right now|currently|at the moment|as of now|still|latest|newest|most recent|up to date|today|this minute"
    r"|since (?:yesterday|monday|tuesday|wednesday|thursday|friday|saturday|sunday|last|then)|meanwhile|just now|actual(?:ly)? running"
    # German
    r"|jetzt|gerade|derzeit|momentan|aktuell\w*|noch immer|immer noch|neuest\w*|heute|seit (?:gestern|montag|letzt\w+)|inzwischen"
    # Portuguese
    r"|agora|neste momento|atualmente|atuais|atual|ainda|mais recente\w*|hoje|desde (?:ontem|segunda|então)|entretanto"
    # Russian
    r"|сейчас|прямо сейчас|на данный момент|текущ\w+|актуальн\w+|до сих пор|последн(?:ее|ие|яя|ий|юю)|сегодня|со вчерашнего"
    r"|всё ещё|все еще)\b"
    # Arabic
    r"|\b(?:الآن|الان|حاليا|حالياً|في هذه اللحظة|لا يزال|لا تزال|ما زال|أحدث|آخر المستجدات|اليوم|منذ أمس)\b"
    # Chinese
    r"|现在|目前|当前|此刻|眼下|最新|今天|还在|仍然|昨天以来"
    # Japanese
    r"|今は|今の|今も|現在|ただいま|最新|今日|まだ|いまだ|昨日から"
)


_QUESTION = re.compile(r"[^.;:!?。；：！？؟؛\n—]*(?:[.:](?=\S)[^.;:!?。；：！？؟؛\n—]*)*[?？؟]")


def asks_to_search(message: str) -> bool:
    """Whether the user told the agent to look something up: then every look-up is theirs."""
    return bool(_SEARCH.search(_folded(message)))


def asks_for_now(text: str) -> bool:
    """Whether a message or a call asks for what is so at this moment, which no memory can know."""
    return bool(_NOW.search(_folded(text)))


def asked_part(message: str) -> str:
    """What a message asks: its sentences that end in a question mark, or all of it. What leads up to a question is no
    part of it ("I prepare the demo; which port …?")."""
    asked = [match.group() for match in _QUESTION.finditer(message[:4000])]
    return " ".join(asked) or message


def _folded(text: str) -> str:
    return unicodedata.normalize("NFKC", text[:4000]).casefold()
