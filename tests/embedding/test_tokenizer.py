"""The tokenizer gives the ids that SentencePiece gives, for any text of any script."""

from __future__ import annotations

import random
import tracemalloc
import unicodedata
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from memory_os import embedding
from memory_os.embedding.tokenizer import Tokenizer
from memory_os.embedding.weights import Weights
from memory_os.errors import EmbeddingError
from sentencepiece import SentencePieceProcessor, sentencepiece_model_pb2
from support.library import model_files

TEXTS = (
    "Which port does the staging gateway listen on?",
    "Das Staging-Gateway lauscht auf Port 8443, seit Mittwoch früh – nicht mehr auf 8080.",
    "O gateway de staging escuta na porta 8443; não é à toa.",
    "Тестовый шлюз слушает порт 8443, раньше был 8080.",
    "تستمع بوابة الاختبار على المنفذ ٨٤٤٣ منذ يوم الأربعاء.",
    "预发布网关监听 8443 端口，从星期三早上开始。",
    "ステージングゲートウェイはポート8443で待ち受けています。",
    "สวัสดีครับ พรุ่งนี้เจอกันที่สถานีรถไฟ",
    "नमस्ते, कल सुबह मिलते हैं।",
    "게이트웨이는 8443 포트를 사용합니다.",
    "### ` ``` #### ##### ****** ------ ____ ........ !!!!!!!",
    "line one\nline two\ttabbed\r\n\x00\x01",
    "  leading,  doubled   and trailing  ",
    "\u2581\u2581 a\u2581b \u2581",
    "👍🏽 🧑‍🚀 \U0001d538 \u202eabc \ufffd \U0010ffff",
    "<s></s><unk><pad>",
    "",
    " ",
    "\u2581",
    "1234567890" * 40,
    "ha" * 400,
)


@pytest.fixture(scope="module")
def pieces() -> list[tuple[str, float]]:
    return _weights().pieces()


@pytest.fixture(scope="module")
def reference(pieces: list[tuple[str, float]]) -> SentencePieceProcessor:
    """The model's pieces in SentencePiece's own format, read by SentencePiece."""
    weights = _weights()
    generated: Any = sentencepiece_model_pb2
    model = generated.ModelProto()
    kinds = generated.ModelProto.SentencePiece
    control = (weights.bos, weights.eos, weights.pad)
    for number, (text, score) in enumerate(pieces):
        kind = kinds.UNKNOWN if number == weights.unknown else kinds.CONTROL if number in control else kinds.NORMAL
        model.pieces.add(piece=text, score=score, type=kind)
    model.trainer_spec.model_type = model.trainer_spec.UNIGRAM
    model.trainer_spec.bos_id, model.trainer_spec.eos_id = weights.bos, weights.eos
    model.trainer_spec.pad_id, model.trainer_spec.unk_id = weights.pad, weights.unknown
    normalizer = model.normalizer_spec
    normalizer.name = "identity"
    normalizer.add_dummy_prefix = normalizer.remove_extra_whitespaces = normalizer.escape_whitespaces = True
    return SentencePieceProcessor(model_proto=model.SerializeToString())


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return Tokenizer(model_files() / embedding._TOKENIZER)


@pytest.mark.parametrize("text", TEXTS)
def test_a_text_has_the_ids_of_the_reference(
    tokenizer: Tokenizer, reference: SentencePieceProcessor, text: str
) -> None:
    for form in (text, f"query: {text}", unicodedata.normalize("NFKC", f"passage: {text}"), text.swapcase()):
        assert tokenizer.encode(form) == reference.encode(form)


def test_thousands_of_made_up_texts_have_the_ids_of_the_reference(
    tokenizer: Tokenizer, reference: SentencePieceProcessor, pieces: list[tuple[str, float]]
) -> None:
    # Strung together from pieces: there many paths are nearly as good as the best.
    chance = random.Random(7)
    for _ in range(3000):
        joint = chance.choice(["", "", " "])
        text = joint.join(chance.choice(pieces)[0] for _ in range(chance.randrange(1, 40)))
        assert tokenizer.encode(text) == reference.encode(text), text


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=300))
def test_any_characters_have_the_ids_of_the_reference(
    tokenizer: Tokenizer, reference: SentencePieceProcessor, text: str
) -> None:
    assert tokenizer.encode(text) == reference.encode(text)


def test_no_piece_spans_two_words(pieces: list[tuple[str, float]]) -> None:
    """What the search by words rests on."""
    assert not [text for text, _ in pieces if "\u2581" in text[1:] or " " in text]


def test_half_a_character_is_no_error(tokenizer: Tokenizer) -> None:
    assert tokenizer.encode("a \ud800 b")


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04 half of a file", b"\x93NUMPY"])
def test_a_damaged_file_is_a_typed_error(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "damaged.trie"
    path.write_bytes(content)
    with pytest.raises(EmbeddingError, match=r"damaged\.trie"):
        Tokenizer(path)


def _weights() -> Weights:
    return Weights(embedding._wheel_weights())


def test_what_is_remembered_of_words_is_small(tokenizer: Tokenizer) -> None:
    """A number in each message is a word in itself, and 20,000 words are remembered: 8 MB, not 50."""
    words = [f"{number}" for number in range(700_000, 701_000)]
    first = [tokenizer.encode(word) for word in words[:10]]
    tracemalloc.start()
    try:
        for word in words[10:]:
            tokenizer.encode(word)
        kept, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert kept < 500 * len(words)
    assert [tokenizer.encode(word) for word in words[:10]] == first
