"""Text that reads like orders to a model. It is marked, never changed: what to do with a marked passage is recall's.

A small set of phrases in several languages, matched after normalisation, so that full-width letters, zero-width
characters and odd spacing don't hide one. It errs toward marking: a text *about* such phrases is marked too.
"""

from __future__ import annotations

import re
import unicodedata

__all__ = ["FLAG", "instruction_like"]

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
    # Markers of a chat's own format, and of our block
    r"<\|(?:im_start|im_end|system|user|assistant|endoftext|eot_id|start_header_id)\|>",
    r"\[/?inst\]|<</?sys>>",
    r"</?\s*memory-context\b",
    r"^[ >#*_]*(?:system|assistant|developer)(?: (?:prompt|message))?[ *_]*:\s*\W*(?:you (?:must|are|should|will)|ignore|always|never"
    r"|do not|don't|from now on|respond|reply|execute|run|call)\b",
)
_INSTRUCTION = re.compile("|".join(f"(?:{pattern})" for pattern in _PATTERNS), re.MULTILINE)


def instruction_like(text: str) -> bool:
    """Whether a model could take (part of) this for an order."""
    return bool(_INSTRUCTION.search(_normalised(text)))


def _normalised(text: str) -> str:
    """Compatibility forms folded, format characters gone, case folded, runs of spaces made one."""
    folded = unicodedata.normalize("NFKC", text)
    visible = "".join(char for char in folded if unicodedata.category(char) != "Cf")
    return re.sub(r"[^\S\n]+", " ", visible).casefold()
