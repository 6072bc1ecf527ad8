"""`memory-os bench`: how fast and how large, measured on generated memories in a scratch home."""

from memory_os_workers.bench.run import Figure, run_bench

__all__ = ["Figure", "run_bench"]
