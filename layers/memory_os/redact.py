"""Secrets leave a text before it is stored. Pure, linear in the text's length, and safe to apply twice.

Two ways to know a secret: its shape (`ghp_…`, a JWT, a private key), or what stands before it (`password=`,
`Passwort:`, `密码是`). After a label, only a value that looks like one is taken: "the token budget is 1200" stays.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable

MARK = "[redacted]"

# Every quantifier that may run long is possessive or bounded, and every shape starts at a boundary: no character is
# looked at more than a fixed number of times, whatever the text.
_SHAPES = re.compile(
    r"(?<![A-Za-z0-9_-])(?:"
    r"eyJ[A-Za-z0-9_-]{8,}+\.[A-Za-z0-9_-]{8,}+(?:\.[A-Za-z0-9_-]*+)?"  # JSON web token
    r"|(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}(?![A-Za-z0-9])"  # AWS
    r"|AIza[A-Za-z0-9_-]{35}"  # Google
    r"|ya29\.[A-Za-z0-9_-]{20,}+"
    r"|gh[pousr]_[A-Za-z0-9]{16,}+|github_pat_[A-Za-z0-9_]{20,}+|gl(?:pat|dt|rt|ptt)-[A-Za-z0-9_.-]{16,}+"
    r"|xox[a-z]-[A-Za-z0-9-]{10,}+|xapp-[A-Za-z0-9-]{10,}+"  # Slack
    r"|(?:sk|rk|pk)_(?:live|test)_[A-Za-z0-9]{10,}+|whsec_[A-Za-z0-9]{16,}+"  # Stripe
    r"|hf_[A-Za-z0-9]{20,}+|gsk_[A-Za-z0-9]{20,}+|r8_[A-Za-z0-9]{20,}+|npm_[A-Za-z0-9]{30,}+|nvapi-[A-Za-z0-9_-]{20,}+"
    r"|pypi-[A-Za-z0-9_-]{30,}+|dop_v1_[a-f0-9]{32,}+|shp(?:at|ca|pa|ss)_[a-fA-F0-9]{20,}+|xai-[A-Za-z0-9]{20,}+"
    r"|SG\.[A-Za-z0-9_-]{16,}+\.[A-Za-z0-9_-]{16,}+|AGE-SECRET-KEY-1[A-Z0-9]{40,}+"
    r"|[0-9]{8,10}:AA[A-Za-z0-9_-]{32,}+"  # Telegram bot
    r")"
)
# "sk-" also begins ordinary names ("sk-learn-contrib"), so its tail is looked at.
_SK = re.compile(r"(?<![A-Za-z0-9_-])sk-[A-Za-z0-9_-]{16,}+")
_AUTHORIZATION = re.compile(r"(?i)(?<![a-z0-9])(bearer|basic)([ \t]{1,4})([A-Za-z0-9._~+/=-]{8,}+)")
_WEBHOOK = re.compile(
    r"(?i)(hooks\.slack\.com/(?:services|workflows)/|discord(?:app)?\.com/api/webhooks/)([A-Za-z0-9/_-]{16,}+)"
)
_URL_PASSWORD = re.compile(r"(?<![A-Za-z0-9+.-])([A-Za-z][A-Za-z0-9+.-]{1,20}://[^\s/:@]{0,128}:)([^\s/]{1,256})(@)")
# `curl … -u name:password`, also `--user=`, `--proxy-user`, `-su`, `-uname:…`; elsewhere -u means other things.
_CURL = re.compile(
    r"(?<![\w-])curl(?:\.exe)?(?=[ \t])(?:[^\n]|(?<=\\)\n){0,300}?(?<=\s)"
    r"(?:-[A-Za-z]{0,6}[uU][ \t]{0,4}|--(?:proxy-)?user(?:=|[ \t]{1,4}))"
    r"(?:(?P<quote>[\"'])[^\s:\"']{0,128}+:(?P<quoted>(?!\[redacted\])[^\"'\n]{1,256}+)(?P=quote)"
    r"|[^\s:\"'`]{0,128}+:(?P<bare>(?!//|\[redacted\])[^\s\"'`]{1,256}+))"
)
_KEY_BEGIN = re.compile(r"-----BEGIN (?:[A-Z0-9]{1,12} ){0,3}PRIVATE KEY(?: BLOCK)?-----")
_KEY_END = re.compile(r"-----END (?:[A-Z0-9]{1,12} ){0,3}PRIVATE KEY(?: BLOCK)?-----")
_KEY_BODY = re.compile(r"[A-Za-z0-9+/=\s\\]*+")

_PHRASE_LABELS = (
    r"pass(?:word|wort|wd|phrase|code)s?|pwd|kennwort|senha|contrase(?:ñ|n)a|mot de passe|parola d'ordine"
    r"|пароль|密码|密碼|口令|パスワード|비밀번호|كلمة المرور|كلمة السر|كلمه المرور|pin(?:[ _-]?code)?"
)
_KEY_LABELS = (
    r"(?:api|access|secret|private|auth|account|encryption|signing|master|client)[ _-]?(?:key|token|secret)"
    r"|api-?schl(?:ü|ue)ssel|zugangstoken|chave de api|ключ api|токен|令牌|密钥|密鑰|トークン|token|secret|credential"
)
# `-p` style flags aside, a label is followed by a sign ("=", ":", "：", "=>") or, in prose, by a word for "is".
_SIGN = r"""["'`*]{0,3}[ \t]{0,4}(?P<sign>=>|:=|[:=：＝])[ \t]{0,4}"""
_IS = (
    r"(?:[ \t]{1,4}(?:is|ist|lautet|es|é|est|это|هي|هو)[ \t:]{1,4}|[ \t]{0,4}(?:是|为|為|は)[ \t:：]{0,4}"
    r"|[ \t]{1,4}[-–—][ \t]{1,4})"
)
# "the password for the office is …": a few words may stand between.
_GAP = (
    r"(?P<gap>[ \t](?:for|of|from|to|on|at|für|vom|von|zum|zu|de|del|du|da|do|para|pour|от|для|к)"
    r"(?:[ \t][^\W\d_]{1,16}){1,4}?)?"
)
_VALUE = r"""(?P<quote>["'`«“「]?)(?P<value>[^\s"'`»”」,;，、。；<>(){}]{1,512})"""
# A label starts a word: after "_" (DB_PASSWORD), or after a script that is written without spaces (我的密码是…).
_START = r"(?<![^\W_\u3040-\u9fff\uac00-\ud7af])"
_LABELLED = re.compile(
    rf"(?i)(?P<label>{_START}(?:(?P<password>{_PHRASE_LABELS}){_GAP}|(?P<token>{_KEY_LABELS})))"
    rf"(?:{_SIGN}|{_IS}){_VALUE}"
)

# What stands after a label in documentation and in messages about the label.
_PLACEHOLDERS = frozenset({
    "none", "null", "nil", "true", "false", "required", "optional", "string", "str", "text", "number", "int", "integer",
    "bool", "boolean", "missing", "empty", "invalid", "wrong", "expired", "incorrect", "unknown", "changed", "reset",
    "hidden", "secret", "password", "passwort", "token", "yes", "no", "todo", "tbd", "redacted", "changeme", "example",
    "undefined", "hashed", "encrypted", "disabled", "enabled", "default", "here", "below", "above",
})  # fmt: skip
_REFERENCE = re.compile(
    r"(?i)^(?:\$|%|\*+$|x{3,}$|\.{3}|…|\[|os\.|process\.|env\.|getenv|config\.|settings\.|self\.|vault:)"
)
_WORDS_AND_NUMBERS = re.compile(r"^[^\W\d_]+\d{0,3}(?:[-_./][^\W\d_]*\d{0,3})*$")
_ENDS_LINE = re.compile(r"""["'`»”」]?[ \t]{0,4}[.!]?[ \t]{0,4}(?:\r?\n|$)""")


# A replacement can uncover a label that stood glued to the secret; each round finds something or is the last.
_ROUNDS = 6


def redact(text: str) -> tuple[str, int]:
    """The text with every secret replaced by `[redacted]`, and how many there were. A second pass changes nothing."""
    total = 0
    for _ in range(_ROUNDS):
        before = total
        for step in (private_keys, _curl, _labelled, _urls, _authorization, _webhooks, _shapes):
            text, count = step(text)
            total += count
        if total == before:
            break
    return text, total


def private_keys(text: str) -> tuple[str, int]:
    """PEM blocks, whole; one without an end loses what looks like key material after its first line."""
    pieces: list[str] = []
    position = count = 0
    ends = deque(match.span() for match in _KEY_END.finditer(text))
    for begin in _KEY_BEGIN.finditer(text):
        if begin.start() < position:
            continue
        while ends and ends[0][0] < begin.end():
            ends.popleft()
        body = _KEY_BODY.match(text, begin.end())
        stop = ends[0][1] if ends else (body.end() if body else begin.end())
        pieces += [text[position : begin.start()], MARK]
        position, count = stop, count + 1
    return ("".join(pieces) + text[position:], count) if count else (text, 0)


def _labelled(text: str) -> tuple[str, int]:
    def replace(match: re.Match[str]) -> str | None:
        value = match["value"]
        if not _looks_secret(value, match):
            return None
        tail = value[len(value.rstrip(".?:")) :] if not match["quote"] else ""
        return match.group()[: match.start("value") - match.start()] + MARK + tail

    return _substitute(_LABELLED, text, replace)


def _looks_secret(value: str, match: re.Match[str]) -> bool:
    """Whether the word after a label is a secret rather than the rest of a sentence."""
    bare = value.strip(".!?:*")
    if MARK in value or bare.casefold() in _PLACEHOLDERS or _REFERENCE.match(bare):
        return False
    digits = sum(char.isdigit() for char in bare)
    letters = sum(char.isalpha() for char in bare)
    if match["password"]:
        return _looks_like_password(bare, digits, letters, match)
    if len(bare) < 8 or not digits or not letters:
        return len(bare) >= 20 and bare.isascii() and bare.lower() != bare and bare.upper() != bare
    assigned = match["sign"] in ("=", ":=", "=>") or bool(match["quote"])
    return assigned or (len(bare) >= 10 and not _WORDS_AND_NUMBERS.match(bare))


def _looks_like_password(bare: str, digits: int, letters: int, match: re.Match[str]) -> bool:
    if len(bare) < 4:
        return False
    symbols = len(bare) - digits - letters - sum(bare.count(char) for char in "-_./'’")
    inner_case = bare[1:].lower() != bare[1:] and bare.upper() != bare
    mixed = (digits and letters) or symbols or inner_case
    if mixed or (digits == len(bare) and bool(match["sign"])):
        return True
    if not match["sign"] or match["gap"]:  # "the password is required", "password policy: strict"
        return False
    whole_line = bool(_ENDS_LINE.match(match.string, match.end()))
    return match["sign"] in ("=", ":=", "=>") or bool(match["quote"]) or whole_line


def _urls(text: str) -> tuple[str, int]:
    return _substitute(_URL_PASSWORD, text, lambda m: None if m[2] == MARK else m[1] + MARK + m[3])


def _curl(text: str) -> tuple[str, int]:
    def replace(match: re.Match[str]) -> str | None:
        group = "quoted" if match["quote"] else "bare"
        password = match[group]
        if password.casefold() in _PLACEHOLDERS or _REFERENCE.match(password):
            return None  # "curl -u user:password" in a manual, "$PASSWORD" in a script
        return match.group()[: match.start(group) - match.start()] + MARK + (match["quote"] or "")

    return _substitute(_CURL, text, replace)


def _authorization(text: str) -> tuple[str, int]:
    def replace(match: re.Match[str]) -> str | None:
        credential = match[3].rstrip(".")
        if not any(char.isdigit() for char in credential) and len(credential) < 24:
            return None  # "bearer certificates", "basic authentication"
        return match[1] + match[2] + MARK

    return _substitute(_AUTHORIZATION, text, replace)


def _webhooks(text: str) -> tuple[str, int]:
    return _substitute(_WEBHOOK, text, lambda m: m[1] + MARK)


def _shapes(text: str) -> tuple[str, int]:
    text, keys = _substitute(_SK, text, lambda m: MARK if _random_tail(m.group()) else None)
    text, others = _substitute(_SHAPES, text, lambda m: MARK)
    return text, keys + others


def _random_tail(key: str) -> bool:
    return any(char.isdigit() for char in key) or any(len(part) >= 20 for part in re.split(r"[-_]", key))


def _substitute(pattern: re.Pattern[str], text: str, replace: Callable[[re.Match[str]], str | None]) -> tuple[str, int]:
    """`re.sub` that counts only real replacements; None keeps what was matched."""
    count = 0

    def one(match: re.Match[str]) -> str:
        nonlocal count
        found = replace(match)
        if found is None:
            return match.group()
        count += 1
        return found

    return pattern.sub(one, text), count
