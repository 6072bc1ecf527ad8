"""`memory-os bench`: how fast and how large, measured on generated memories in a scratch home."""

from memory_os_workers.bench.run import run_bench
from memory_os_workers.bench.scratch import Figure

__all__ = ["Figure", "run_bench"]
