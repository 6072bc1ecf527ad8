"""Text that reads like orders to a model. It is marked, never changed: what to do with a marked passage is recall's.

A small set of phrases in several languages, matched after normalisation, so that full-width letters, zero-width
characters and odd spacing don't hide one. It errs toward marking: a text *about* such phrases is marked too.

What tells its reader to do something ("Always run the tests") is another matter: most of it is meant for people, and only
whoever makes statements of a text needs to know it (`directive_like`).
"""

from __future__ import annotations

import re
import unicodedata

__all__ = ["FLAG", "directive_like", "instruction_like"]

FLAG = "instruction-like"

_PATTERNS = (
    # English
    r"\b(?:ignore|disregard|forget|override)\b[^.\n]{0,30}\b(?:previous|prior|above|earlier|preceding|system|all)\b"
    r"[^.\n]{0,30}\b(?:instructions?|prompts?|rules?|directions?|messages?)\b",
    r"\byou are now\b[^.\n]{0,40}\b(?:mode|assistant|dan|unrestricted|jailbroken)\b",
    r"\b(?:reveal|print|show|repeat)\b[^.\n]{0,20}\b(?:your|the) (?:system prompt|hidden instructions)\b",
    # German
    r"\b(?:ignorier\w*|vergiss|missachte\w*)\b[^.\n]{0,30}\b(?:vorherig\w*|bisherig\w*|obig\w*|früher\w*|alle\w*)\b"
    r"[^.\n]{0,30}\b(?:anweisung\w*|instruktion\w*|regeln|vorgaben)\b",
    # Portuguese, Spanish, Italian
    r"\b(?:ignor[ea]\w*|desconsider\w+|esque[cç][ae]\w*|olvid\w+|dimentic\w+)\b[^.\n]{0,30}"
    r"\b(?:instru[cç][oõ]es|instrucciones|istruzioni|regras|reglas|ordens)\b",
    # French
    r"\b(?:ignore[zr]?|oublie[zr]?)\b[^.\n]{0,30}\b(?:instructions?|consignes?|règles)\b",
    # Russian
    r"\b(?:игнорируй\w*|проигнорируй\w*|забудь\w*|не обращай внимания на)\b[^.\n]{0,40}"
    r"\b(?:инструкци\w*|указани\w*|правил\w*)",
    # Arabic
    r"(?:تجاهل|انس|انسَ)[^.\n]{0,40}(?:التعليمات|الأوامر|التوجيهات|تعليمات)",
    # Chinese
    r"(?:忽略|无视|忘记|無視|忘記)[^。\n]{0,15}(?:指令|指示|提示|规则|規則)",
    # Japanese
    r"(?:指示|命令|プロンプト|ルール)[^。\n]{0,10}(?:無視|忘れ)(?:して|し|て|ろ|せよ)",
    # To whichever model reads it, or behind the user's back
    r"\bif you(?: are|'re) an? (?:ai|llm|(?:large )?language model|(?:ai )?(?:assistant|agent)|chatbot)\b",
    r"\b(?:note|message|instructions?|orders?) (?:to|for) (?:the |any |all )?(?:ai|llms?|language models?|ai (?:assistants?|agents?))\b",
    r"\b(?:do not|don't|never) (?:tell|inform|alert|mention (?:this |it )?to|reveal (?:this |it )?to) the (?:user|human)\b",
    r"\bwenn du eine? (?:ki|sprachmodell|(?:ki-)?assistent\w*|(?:ki-)?agent)\b",
    r"\b(?:nachricht|anweisung\w*|hinweis) (?:an|für) (?:die ki|das sprachmodell|den ki-\w+)\b",
    r"\b(?:sag|sage|verrate?|erzähle?) (?:es |das )?(?:dem|der) (?:nutzer|benutzer|anwender)(?:in)? nicht",
    r"\bse (?:você|tu) (?:é|és|for|fores) (?:um|uma) (?:ia|modelo de linguagem|assistente|agente)\b",
    r"\b(?:mensagem|instru[cç][oõ]es|nota) para (?:a ia|o modelo de linguagem|o assistente de ia)\b",
    r"\bnão (?:diga|conte|informe|revele)\b[^.\n]{0,15}\b(?:ao|à) (?:usuári[oa]|utilizador)",
    r"\bесли (?:ты|вы) (?:ии|языковая модель|ассистент|агент|нейросеть)\b",
    r"\b(?:сообщение|инструкци\w|указани\w) для (?:ии|языковых? модел\w+|ии-ассистент\w*|нейросет\w+)",
    r"\bне (?:говори|сообщай|рассказывай)(?:те)?\b[^.\n]{0,15}\bпользовател",
    r"إذا كنت (?:نموذج|مساعد|ذكاء|وكيل)|(?:رسالة|تعليمات|ملاحظة) (?:إلى|لل?) ?(?:ذكاء|الذكاء|نموذج|النموذج|مساعد|المساعد)|لا تخبر المستخدم",
    r"如果你是(?:一个|一個)?(?:ai|人工智能|人工智慧|大?语言模型|大?語言模型|助手|大模型)|(?:写给|寫給|致)(?:ai|人工智能|语言模型|語言模型|助手)",
    r"(?:不要|别|別|勿)(?:告诉|告訴|通知|提醒|透露给|透露給)(?:用户|用戶|使用者)",
    r"(?:あなた|君)が(?:ai|人工知能|(?:大規模)?言語モデル|アシスタント)(?:なら|であれば|の場合)",
    r"(?:ai|人工知能|言語モデル|アシスタント)への(?:指示|命令|メッセージ)|ユーザーに(?:は)?(?:言わ|伝え|教え|知らせ)(?:ない(?:で|こと)|るな)",
    # Markers of a chat's own format, and of our block
    r"<\|(?:im_start|im_end|system|user|assistant|endoftext|eot_id|start_header_id)\|>",
    r"\[/?inst\]|<</?sys>>",
    r"</?\s*memory-context\b",
    r"^[ >#*_]*(?:system|assistant|developer)(?: (?:prompt|message))?[ *_]*:\s*\W*(?:you (?:must|are|should|will)|ignore|always|never"
    r"|do not|don't|from now on|respond|reply|execute|run|call)\b",
)
# At the beginning of a sentence, or of what a colon introduces.
_BEGIN = r"(?:^|[.!?;:。！？；：]|\n)[\s\"'“„«「>*_#-]*"
_DIRECTIVES = (
    # English
    _BEGIN + r"(?:please,? )?(?:always|never|from now on|henceforth|make sure|be sure|do not|don't)\b",
    _BEGIN + r"(?:please,? )?(?:run|execute|send|delete|reply|respond|answer|tell|forward|upload|download|install|pretend|ignore"
    r"|disregard|remember|open|visit)\b (?:an?|the|this|these|that|all|any|every|your|my|it|me|us|them|with|to|only|in|as|`\S+)",
    _BEGIN + r"please\b",
    r"\b(?:you|the (?:ai )?(?:assistant|agent|model|chatbot|llm|ai)|(?:ai|llm)s?) (?:must|should|shall|ha(?:s|ve) to|needs? to)\b",
    # German
    _BEGIN + r"(?:bitte|immer|stets|niemals|nie|ab jetzt|ab sofort|von nun an)\b",
    _BEGIN + r"(?:führe?|sende|schicke?|lösche?|antworte|sage?|starte|verwende|nutze|ignoriere|merke?|öffne)\b"
    r" (?:bitte|immer|stets|nie|niemals|alle[sn]?|die|den|das|dem|der|dir|mir|uns|nur|auf|mit|diese\w*)\b",
    r"\b(?:du (?:musst|sollst|solltest)|sie (?:müssen|sollen|sollten)|(?:der (?:ki-)?(?:assistent|agent)|die ki|das (?:sprach)?modell)"
    r" (?:muss|soll|sollte))\b",
    # Portuguese
    _BEGIN + r"(?:por favor|sempre|nunca|jamais|a partir de agora|de agora em diante|não deixe)\b",
    _BEGIN + r"(?:execute|rode|envie|apague|exclua|responda|diga|ignore|lembre-se|instale|abra|use)\b"
    r" (?:sempre|nunca|tod[oa]s?|os?|as?|este|esta|est[ea]s|uma?|ao|com|em|apenas|isto|isso|de)\b",
    r"\b(?:você|tu|(?:o|a) (?:assistente|ia|agente|modelo)) (?:deve[s]?|precisas?|te(?:m|ns) (?:de|que))\b",
    # Russian
    _BEGIN + r"(?:пожалуйста|всегда|никогда|отныне|впредь|с этого момента|обязательно)\b",
    _BEGIN + r"(?:запусти|запускай|выполни|выполняй|отправь|отправляй|удали|удаляй|ответь|отвечай|скажи|говори|запомни|помни|игнорируй"
    r"|установи|открой)(?:те)?\b",
    r"\b(?:ты|вы|ассистент|помощник|агент|модель|ии|нейросеть) (?:долж(?:ен|на|ны)|обязан[аы]?)\b",
    # Arabic
    _BEGIN + r"(?:دائم(?:ا|ًا|اً)|أبد(?:ا|ًا|اً)|من الآن فصاعد\S*|يرجى|الرجاء|من فضلك|لا تقم|قم ب|احرص|تأكد من)",
    _BEGIN + r"(?:شغ(?:ّ)?ل|نف(?:ّ)?ذ|أرسل|احذف|أجب|تجاهل|تذك(?:ّ)?ر|ثب(?:ّ)?ت|افتح) (?:دائم\S*|كل|جميع|هذ[اه]|الأمر|على|أن|إلى)",
    r"(?:يجب|ينبغي) (?:عليك|عليكم|أن ت|على (?:ال)?(?:مساعد|نموذج|وكيل))|(?:ينبغي|يتعين) (?:للمساعد|للنموذج|على المساعد)",
    # Chinese
    _BEGIN + r"(?:请|請|始终|始終|总是|總是|务必|務必|永远|永遠|绝不|絕不|切勿|不要|从现在|從現在|每次都)",
    _BEGIN + r"(?:运行|運行|执行|執行|发送|發送|删除|刪除|回答|回复|回覆|记住|記住|忽略|安装|安裝)"
    r"(?:所有|全部|这|這|以下|此|该|該|我|它|`)",
    r"(?:你|您|助手|ai|模型|代理|智能体|智能體)(?:必须|必須|应该|應該|应当|應當|需要|都要|不得)",
    # Japanese
    r"(?:してください|しなさい|せよ|して下さい|しないでください|するな|しろ)(?=[。！!\s」』]|$)",
    r"(?:必ず|常に|いつも|決して|絶対に|今後は|これからは)[^。\n]{0,40}(?:こと|べき|ください|なさい|ない|する|行う)(?=[。！!\s」』]|$)",
    r"(?:あなた|アシスタント|ai|モデル|エージェント)は[^。\n]{0,40}(?:べき|なければなら|必要がある|ねばなら)",
)
_INSTRUCTION = re.compile("|".join(f"(?:{pattern})" for pattern in _PATTERNS), re.MULTILINE)
_DIRECTIVE = re.compile("|".join(f"(?:{pattern})" for pattern in _DIRECTIVES), re.MULTILINE)


def instruction_like(text: str) -> bool:
    """Whether a model could take (part of) this for an order."""
    return bool(_INSTRUCTION.search(_normalised(text)))


def directive_like(text: str) -> bool:
    """Whether it tells its reader to do something, whoever that is. It errs toward yes."""
    return instruction_like(text) or bool(_DIRECTIVE.search(_normalised(text)))


def _normalised(text: str) -> str:
    """Compatibility forms folded, format characters gone, case folded, runs of spaces made one."""
    folded = unicodedata.normalize("NFKC", text)
    visible = "".join(char for char in folded if unicodedata.category(char) != "Cf")
    return re.sub(r"[^\S\n]+", " ", visible).casefold()
