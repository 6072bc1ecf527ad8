"""Whether an agent's message only says that it does not know: no answer to the question the next time it is asked.

One table for seven languages (English, German, Portuguese, Russian, Arabic, Chinese, Japanese), read all at once. Pure.
"""

from __future__ import annotations

import re

from memory_os.text.remembered import remembered

# Longer, or with a number in it, it says something besides.
_LONGEST = 320
# It begins with that; what follows offers or asks.
_WITHIN = 140
_DIGIT = re.compile(r"\d")
# What an agent keeps, and has nothing of.
_RECORD = r"(?:records?|information|info|notes?|memory|memories|details|data|mention|knowledge|entry|idea)\b"
_UNKNOWN = re.compile(
    r"\b(?:i|we) (?:do not|don't|did not|didn't|can't|cannot|could not|couldn't|have not|haven't|am not able to|wasn't able to) "
    r"(?:yet |currently |actually |really |seem to |been able to )?"
    r"(?:know(?! (?:what|how|where) (?:i|we)(?:'d| would))|find|found|see|recall|remember|locate)\b"
    rf"|\b(?:i|we) (?:do not|don't|did not|didn't) (?:currently |yet |seem to )?have (?:\w+ ){{0,3}}{_RECORD}"
    rf"|\bi(?:'m| am) not (?:sure|aware|certain)\b|\b(?:i|we) have no (?:\w+ )?{_RECORD}"
    rf"|\bthere(?:'s| is| are) (?:no|nothing) (?:\w+ ){{0,3}}(?:about\b|on\b|recorded\b|{_RECORD})"
    rf"|\bnothing in (?:my|our|the) {_RECORD}|\bno {_RECORD} (?:of|about|on|for)\b|\bi (?:have )?found nothing\b"
    r"|\byou (?:haven't|have not|didn't|did not|never) (?:yet )?(?:told|tell|mention|mentioned|said|say)\b"
    r"|\bweiß ich (?:leider |das |noch )*nicht\b|\bich weiß (?:leider |das |es |noch )*nicht\b|\bkeine ahnung\b|\bnicht bekannt\b"
    r"|\bkeine (?:\w+ )?(?:informationen?|angaben?|aufzeichnung\w*|notiz\w*|erinnerung\w*|daten|hinweise?|einträge)\b"
    r"|\b(?:finde|habe|fand|steht|gibt es|liegt) (?:\w+ ){0,3}nichts\b|\bnichts (?:über|zu|davon|dazu|darüber|gefunden)\b"
    r"|\bmir (?:\w+ )?(?:noch )?nicht (?:gesagt|erzählt|mitgeteilt|genannt)\b"
    r"|\bnão (?:sei|encontrei|encontro|achei|consta|constam|me lembro|lembro|consigo (?:encontrar|achar))\b"
    r"|\bnão (?:tenho|há|existe|existem) (?:\w+ ){0,3}(?:regist\w*|informa\w*|notas?|anota\w*|dados|memória|conhecimento|menção|nada)\b"
    r"|\bnenhum(?:a)? (?:regist\w*|informa\w*|nota|anota\w*|menção)\b|\bnão me (?:disse|contou|falou|informou|disseste|contaste)\b"
    r"|\bне (?:знаю|нашёл|нашел|нашла|найдено|помню|известно|могу найти|удалось найти)\b"
    r"|\bнет (?:\w+ ){0,3}(?:запис\w*|информаци\w*|данных|сведени\w*|заметок|упоминани\w*)\b|\bничего (?:не|нет|об?)\b"
    r"|\b(?:вы|ты) (?:мне )?(?:ещё |еще )?не (?:говорил\w*|сказал\w*|сообщал\w*|упоминал\w*)"
    r"|لا (?:أعرف|اعرف|أعلم|اعلم|أدري|ادري|أجد|اجد|أتذكر|اتذكر|أملك|املك|توجد|يوجد|تتوفر|يتوفر)|لم (?:أجد|اجد|تخبرني|تذكر لي)"
    r"|ليست? (?:لدي|عندي|لديّ)"
    "|不知道|不清楚|不记得|不記得|(?:没有?|沒有?)找到|找不到|查不到|(?:无法|無法)(?:找到|确定|得知)|(?:没有?|沒有?)(?:告诉|提到|提及|说过)"
    "|(?:没有?|沒有?)(?:任何|相关|有关|关于){0,2}.{0,12}(?:记录|信息|资料|笔记)|(?:记录|笔记|记忆|资料)(?:里|中)?(?:没有|沒有|并无)"
    "|(?:わか|分か)りません|(?:わか|分か)らない|知りません|存じません|覚えていません|見つかりません|見つけられません|見当たりません"
    "|(?:記録|情報|メモ|記憶|記載)(?:が|は|も|に)?(?:何も)?(?:ありません|ない|残ってい)|まだ(?:教えて|聞いて|伺って)(?:いただいて)?いません"
)
# One of these stands in each of them: most texts have none, and searching for all of the above takes fifty times as long.
_DENIALS = (
    "n't ", "not ", "no ", "nothing", "never", "nicht", "keine", "nichts", "não ", "nenhum", "не ", "нет ", "ничего", "لا ", "لم ", "ليس",
    "不", "没", "沒", "无", "無", "找", "ません", "ない", "残って",
)  # fmt: skip
_BUT = re.compile(
    r"\b(?:but|however|although|though|aber|jedoch|allerdings|mas|porém|embora|но|однако|хотя)\b"
    "|لكن|但|不过|不過|然而|可是|ただし|ただ、|しかし|けれど|けど|(?<!恐縮)ですが|(?<!申し訳あり)ませんが",
    re.IGNORECASE,
)


@remembered(most=2048, characters=500_000)
def knows_nothing(text: str) -> bool:
    """"I don't have any record of that. Shall I note one down?": short, no number, no "but"."""
    if len(text) > _LONGEST or _DIGIT.search(text):
        return False
    plain = text.replace("’", "'").lower()
    head = plain[:_WITHIN]
    return any(denial in head for denial in _DENIALS) and bool(_UNKNOWN.search(head)) and not _BUT.search(plain)
