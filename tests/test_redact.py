"""Secrets leave, prose stays, and a megabyte of hostile text takes no longer than a megabyte of prose."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from memory_os.redact import MARK, redact

KEY_BODY = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7\nVJTUt9Us8cKjMzEfYyjiWA4R\n"

SECRETS = [
    ("sk-proj-9aB8cD7eF6gH5iJ4kL3m", "sk-proj-9aB8cD7eF6gH5iJ4kL3m"),
    ("use ghp_0123456789abcdefghijABCDEFGHIJ here", "ghp_0123456789abcdefghijABCDEFGHIJ"),
    ("xoxb-123456789012-abcdefGHIJ", "xoxb-123456789012-abcdefGHIJ"),
    ("id AKIAIOSFODNN7EXAMPLE end", "AKIAIOSFODNN7EXAMPLE"),
    ("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9P", "eyJzdWIiOiIxMjM0In0"),
    (f"-----BEGIN RSA PRIVATE KEY-----\n{KEY_BODY}-----END RSA PRIVATE KEY-----\n", "VJTUt9Us8cKjMzEfYyjiWA4R"),
    (f"-----BEGIN PRIVATE KEY-----\n{KEY_BODY}", "VJTUt9Us8cKjMzEfYyjiWA4R"),
    ("Authorization: Bearer a1b2c3d4e5f6", "a1b2c3d4e5f6"),
    ("postgres://app:s3cr@t/db".replace("/db", "@db:5432/x"), "s3cr@t"),
    ("DB_PASSWORD=correct1horse", "correct1horse"),
    ('{"api_key": "abcd1234efgh"}', "abcd1234efgh"),
    ("token: 9f8e7d6c5b4a3f2e1d", "9f8e7d6c5b4a3f2e1d"),
    ("my password is hunter2", "hunter2"),
    ("the password for the office is Blue-Sky-77", "Blue-Sky-77"),
    ("Passwort: Sommer", "Sommer"),
    ("Das Passwort lautet Regen99", "Regen99"),
    ("senha: abacaxi9", "abacaxi9"),
    ("пароль: qwerty12", "qwerty12"),
    ("пароль от базы: qwerty12", "qwerty12"),
    ("كلمة المرور: Nakhla99", "Nakhla99"),
    ("密码是abc12345", "abc12345"),
    ("密码：abc12345。谢谢", "abc12345"),
    ("我的密码是abc12345", "abc12345"),
    ("私のパスワードはpa55wordです", "pa55word"),
    ("パスワードはpa55word", "pa55word"),
    ("contraseña: sol2024", "sol2024"),
    ("mot de passe : azerty12", "azerty12"),
    ("curl -u bob:hunTer22pass https://example.org", "hunTer22pass"),
    ("curl -sS -X POST --user=bob@example.org:hunter https://example.org", "hunter"),
    ("run `curl -su bob:hunter` again", "hunter"),
    ("curl https://example.org -ubob:hunter", "hunter"),
    ("curl -u 'bob:two words' https://example.org", "two words"),
    ("curl -L \\\n  --proxy-user \"bob:hunter\" \\\n  https://example.org", "hunter"),
]


@pytest.mark.parametrize(("text", "secret"), SECRETS)
def test_a_secret_leaves_and_is_counted(text: str, secret: str) -> None:
    cleaned, count = redact(text)
    assert secret not in cleaned
    assert MARK in cleaned
    assert count == 1


PROSE = [
    "the token budget is 1200",
    "token: expired",
    "the access token is valid for 3600 seconds",
    "password is required",
    "The password: never share it with anyone",
    "password: string",
    "password = os.getenv('DB_PASSWORD')",
    "password hashing is PBKDF2-like",
    "the password is 12 characters long",
    "the secret: patience",
    "basic authentication over https",
    "sk-learn-contrib-extras is a package",
    "pinning = 12345, key: value",
    "see https://example.org:8080/a@b",
    "Das Passwort muss zwölf Zeichen haben",
    "A senha é obrigatória",
    "пароль это важно",
    "كلمة المرور مطلوبة",
    "密码是必须的",
    "パスワードは必須です",
    "commit 3f2a9c1 fixed the tokenizer",
    "curl -u user:password https://example.org",
    'curl -u "$NAME:$PASSWORD" https://example.org',
    "curl -u bob https://example.org:8080/a",
    "curl --user-agent probe:2 https://example.org",
    "docker run -u 1000:1000 image, then curl https://example.org",
    "a dumbbell curl: 3 sets - u know: slow",
    "curly -u shapes:round",
    "sudo -u app:staff id",
    "curl is a tool.\nsort -u names:list",
]


@pytest.mark.parametrize("text", PROSE)
def test_prose_stays(text: str) -> None:
    assert redact(text) == (text, 0)


def test_the_rest_of_the_text_stays() -> None:
    assert redact("set DB_PASSWORD=abc123xyz, then restart") == (f"set DB_PASSWORD={MARK}, then restart", 1)
    assert redact("postgres://app:abc123@db:5432/x")[0] == f"postgres://app:{MARK}@db:5432/x"


def test_the_rest_of_a_curl_command_stays() -> None:
    command = "curl -u 'bob:two words' --proxy-user eve:hunter https://example.org"
    assert redact(command) == (f"curl -u 'bob:{MARK}' --proxy-user eve:{MARK} https://example.org", 2)


def test_two_secrets_count_twice() -> None:
    assert redact("password=abc123xyz and AKIAIOSFODNN7EXAMPLE")[1] == 2


FRAGMENTS = st.sampled_from(
    ["password=", "token: ", "sk-", "abc123", "ghp_0123456789abcdefABCD", "!", " is ", "://u:", "@h", MARK, "[",
     '"', "Bearer ", "curl ", "-u ", "'", "密码是", "пароль: ", "-----BEGIN PRIVATE KEY-----", "-----END PRIVATE KEY-----", "\n", " ",
     "eyJhbGciOiJI.eyJzdWIiOiIx", "é"]
)  # fmt: skip


@given(st.lists(st.one_of(FRAGMENTS, st.text(max_size=8)), max_size=12).map("".join))
def test_applying_it_twice_changes_nothing(text: str) -> None:
    once, _ = redact(text)
    assert redact(once) == (once, 0)


HOSTILE = [
    "-----BEGIN PRIVATE KEY-----", "-----END PRIVATE KEY-----", "-----BEGIN A A ", "eyJ", "-eyJ-", "sk-",
    "password", "password=", "password is ", "password for a b c ", "пароль от базы ", "a://", "a://a:", "bearer ",
    "api_", " ", "x", "密码是", "SG.", "curl ", "curl -u ", "curl -u a:", "curl -uuuuuuu", "curl \\\n -u",
]  # fmt: skip


@pytest.mark.parametrize("unit", HOSTILE)
def test_time_grows_linearly(unit: str) -> None:
    small, large = (_seconds(unit * (size // len(unit))) for size in (60_000, 480_000))
    # Eight times the text; quadratic work would take 64 times as long.
    assert large < max(24 * small, 0.3), f"{unit!r}: {small:.3f} s for 60 kB, {large:.3f} s for 480 kB"


def _seconds(text: str) -> float:
    started = time.process_time()
    redact(text)
    return time.process_time() - started


def test_a_megabyte_without_spaces_is_read_in_seconds() -> None:
    assert _seconds("password=a" + "a1" * 500_000) < 10
