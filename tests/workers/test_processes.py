"""What a process tells the C library of its memory."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

# Eight threads that are all alive take a block each, outside Python's lock; then the C library counts its arenas.
_ARENAS_OF_EIGHT_THREADS = """
import ctypes, sys, threading
libc = ctypes.CDLL(None)
if not hasattr(libc, "malloc_info") or not hasattr(libc, "mallopt"):
    print(0)
    sys.exit()
libc.malloc.restype = ctypes.c_void_p
libc.fopen.restype = ctypes.c_void_p
together = threading.Barrier(8)
def take():
    together.wait()
    libc.malloc(ctypes.c_size_t(5000))
    together.wait()
def count():
    threads = [threading.Thread(target=take) for _ in range(8)]
    for one in threads: one.start()
    for one in threads: one.join()
    stream = libc.fopen(sys.argv[2].encode(), b"w")
    libc.malloc_info(0, ctypes.c_void_p(stream))
    libc.fclose(ctypes.c_void_p(stream))
    print(open(sys.argv[2]).read().count("<heap "))
class Counting:
    done = {}
    async def run(self):
        count()
if sys.argv[1] == "worker":
    from memory_os_workers.jobs.worker import run
    run(Counting)
else:
    if sys.argv[1] == "shared":
        from memory_os_workers.processes import share_arenas
        share_arenas()
    count()
"""


@pytest.mark.parametrize("how", ["shared", "worker"])
def test_threads_share_two_arenas(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: str) -> None:
    monkeypatch.delenv("MALLOC_ARENA_MAX", raising=False)
    alone, shared = (_arenas(one, f"{tmp_path}/{one}") for one in ("alone", how))
    if not shared:
        pytest.skip("the C library has no arenas")
    assert shared <= 2 < alone


def _arenas(how: str, path: str) -> int:
    command = [sys.executable, "-c", _ARENAS_OF_EIGHT_THREADS, how, path]
    return int(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
