"""Whether a message asks not to be remembered. Pure.

Only a clear order counts, and only where orders stand: as a whole sentence, or as the first or the last clause of the
message. "I don't remember this function" and a quoted "don't remember this" are talk about remembering.
"""

from __future__ import annotations

import re
import unicodedata

# Orders stand at the edges of a message; of a long one only these many characters at each end are read.
_EDGE = 600

_BEFORE = (
    r"(?:(?:please|pls|and|but|also|btw|by the way|ok|okay|hey|hermes|bitte|und|aber|por favor|mas|pero|y|e"
    r"|s'il te pla[iî]t|s'il vous pla[iî]t|et|mais|per favore|ma|пожалуйста|и|но|رجاء|من فضلك|و)\s+){0,3}"
)
_AFTER = (
    r"(?:\s+(?:please|pls|ok|okay|thanks|though|anywhere|bitte|danke|por favor|obrigado|obrigada|gracias"
    r"|s'il te pla[iî]t|s'il vous pla[iî]t|merci|per favore|grazie|пожалуйста|спасибо|رجاء|من فضلك|شكرا)){0,2}"
)

_ENGLISH = (
    r"(?:do not|don't|dont|never|no need to) (?:remember|memori[sz]e|store|save|record|log|note down|keep|write down)"
    r" (?:any of )?(?:this|that|these|the following|what (?:i|we) (?:just |am about to )?(?:said|say|wrote|tell you)"
    r"|(?:this|that|my|our) (?:one|message|conversation|chat|session|part|bit|exchange|secret))"
    r"(?: (?:in|to|into) (?:your |the )?memory| for later| on file| down)?",
    r"(?:do not|don't|dont|never) (?:remember|memori[sz]e) it",
    r"(?:do not|don't|dont) (?:put|add|save|write|commit) (?:this|that|it) (?:in|to|into) (?:your |the )?memory",
    r"(?:(?:this|that|it)(?:'s| is| stays)? |strictly |completely |just |keep (?:this|it) )*"
    r"(?:off the record|between us)",
    r"(?:keep|leave) (?:this|that|it) out of (?:your |the )?memory",
)
_GERMAN = (
    r"(?:merke?|speichere?|behalte?|notiere?) (?:dir |dir bitte |bitte )?(?:das|dies|es|diese nachricht|dieses gespräch"
    r"|das folgende|diesen chat)(?: bitte)? (?:nicht|nirgends|nicht ab)",
    r"(?:(?:das|dies|diese nachricht|dieses gespräch) )?(?:bitte )?(?:nicht|nirgends) (?:merken|speichern|abspeichern"
    r"|notieren|aufzeichnen)",
    r"(?:das|dies) (?:bleibt|ist|bleibt bitte) (?:unter uns|vertraulich|inoffiziell)",
)
_PORTUGUESE = (
    r"(?:não|nao) (?:se )?(?:lembre|lembra|memorize|guarde|guarda|salve|salva|grave|registre|registe|anote|armazene)"
    r"(?: de)?(?: nada)? (?:disso|disto|isso|isto|(?:esta|essa) (?:mensagem|conversa))",
    r"(?:isso|isto) (?:fica|é) (?:só )?entre nós",
)
_SPANISH = (
    r"no (?:recuerdes|guardes|memorices|grabes|registres|anotes|almacenes) (?:nada de )?"
    r"(?:esto|eso|este mensaje|esta conversación)",
    r"no lo (?:recuerdes|guardes|memorices|grabes|registres|anotes|almacenes)",
    r"(?:esto|eso) queda entre nosotros",
)
_FRENCH = (
    r"(?:ne |n')(?:retiens|retenez|mémorise|mémorisez|garde|gardez|enregistre|enregistrez|note|notez|sauvegarde|stocke)"
    r" (?:pas|rien)(?: de)?(?: (?:ça|cela|ceci|ce message|cette conversation))?",
    r"(?:ça|cela|ceci) reste entre nous",
)
_ITALIAN = (
    r"non (?:ricordare|memorizzare|salvare|registrare|annotare|conservare) (?:nulla di )?"
    r"(?:questo|ciò|quello|questo messaggio|questa conversazione)",
    r"(?:questo )?(?:resti|resta|rimanga) tra (?:di )?noi",
)
_RUSSIAN = (
    r"(?:это )?не (?:запоминай|запоминайте|сохраняй|сохраняйте|записывай|записывайте)"
    r"(?: (?:это|этого|это сообщение|этот разговор|ничего из этого))?",
    r"(?:это )?(?:(?:пусть )?останется |строго )?между нами",
    r"(?:это )?не для (?:записи|протокола)",
)
_ARABIC = (
    r"لا (?:تتذكر|تحفظ|تسجل|تخزن|تدون) (?:هذا|ذلك|هذه الرسالة|هذه المحادثة|ما قلته)",
    r"لا (?:تتذكره|تحفظه|تسجله|تخزنه|تدونه)",
    r"(?:هذا )?(?:يبقى |سر )?بيننا(?: فقط)?",
    r"(?:هذا )?ليس للتسجيل",
)
_CHINESE = (
    r"(?:请|請|麻烦)?(?:这|這|以下|刚才)?(?:个|個|件事|条|條|些|段话|内容|消息)?(?:请|請)?(?:不要|别|別|勿|不用)(?:把)?(?:记住|記住|记下来?|記下來?|记忆)"
    r"(?:这|這|它|我刚才说的|以下)?(?:个|個|件事|条|條|些|段话|段對話|段对话|次对话)?(?:信息|内容|消息|话)?(?:吧|哦|啊)?",
    r"(?:请|請)?(?:不要|别|別|勿)(?:保存|存储|儲存|记录|記錄)(?:这|這|以下)(?:个|個|件事|条|條|些|段话|段对话|次对话)?(?:信息|内容|消息|话)?(?:吧|哦|啊)?",
    r"(?:这|這)(?:个|個|件事|条|條)?(?:消息|信息)?(?:请|請)?(?:不要|别|別)(?:保存|存储|记录|記錄)(?:下来|下來)?(?:吧|哦|啊)?",
    r"(?:这|這|此)?(?:件)?事?(?:就|只|仅)?(?:限于)?(?:我们|咱们|你我|我們)之间(?:的秘密)?",
)
_JAPANESE = (
    r"(?:(?:これ|それ|この(?:話|こと|件|メッセージ|会話)|今の(?:話|こと)?|以下)(?:は|を|のことは)?)?(?:絶対に|どうか)?"
    r"(?:覚え|記憶し|保存し|記録し|メモし)ない(?:で|でください|で下さい|でね|でくださいね|でほしい|でほしいです)",
    r"(?:これは|それは)?(?:覚え|記憶し|保存し|記録し)なくて(?:も)?(?:いい|いいです|結構です|大丈夫です)",
    r"(?:これは|それは)?オフレコ(?:で|です|だけど|ですが|でお願いします|でお願い)?",
    r"(?:これは|それは)?ここだけの話(?:だけど|ですが|です|で)?",
)
_KOREAN = (
    r"(?:(?:이거|이건|이것|이 ?대화|이 ?메시지)(?:은|는|을|를)? ?)?"
    r"(?:기억하지|저장하지|기록하지) ?(?:마|마세요|말아줘|말아 ?주세요|말아요)",
)

_ORDERS = (
    *_ENGLISH, *_GERMAN, *_PORTUGUESE, *_SPANISH, *_FRENCH, *_ITALIAN,
    *_RUSSIAN, *_ARABIC, *_CHINESE, *_JAPANESE, *_KOREAN,
)  # fmt: skip
_ORDER = re.compile(f"{_BEFORE}(?:{'|'.join(_ORDERS)}){_AFTER}")
_SENTENCE_END = re.compile(r"[.!?…\n。！？؟]+")
_CLAUSE_END = re.compile(r"[,;:()—–،؛，、；：]+|\s-+\s")


def wants_no_memory(text: str) -> bool:
    """True when the message orders that it (and so its whole turn) is not remembered."""
    text = text.strip()
    if len(text) > 2 * _EDGE:
        text = f"{text[:_EDGE]}\n…\n{text[-_EDGE:]}"
    normal = unicodedata.normalize("NFKC", text).casefold().replace("’", "'")
    sentences = [part.strip() for part in _SENTENCE_END.split(normal) if part.strip()]
    if not sentences:
        return False
    edges = (_clauses(sentences[0])[:1], _clauses(sentences[-1])[-1:])
    candidates = {*sentences, *(clause for edge in edges for clause in edge)}
    return any(_ORDER.fullmatch(" ".join(one.split())) for one in candidates)


def _clauses(sentence: str) -> list[str]:
    return [part.strip() for part in _CLAUSE_END.split(sentence) if part.strip()]
