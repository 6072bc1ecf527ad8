"""Numbers and names that more than one module needs, each with the reason for its value."""

from __future__ import annotations

COLLECTION = "knowledge_base"
PLUGIN_KEY = "memory-os"
# Of doctor and setup, which write a memory and forget it again at once: a name that no profile of Hermes can have.
SCRATCH_PROFILE = "(doctor)"

# sockaddr_un.sun_path is 108 bytes on Linux and 104 on macOS, with a terminating NUL.
SOCKET_PATH_MAX = 103

# Hermes spills a hook's text over 10,000 characters to a file; 1,200 tokens stay well below in every script.
BLOCK_MAX_TOKENS = 1200

# A message longer than this is stored in full and indexed by its chunks; the hook itself never sends more.
MESSAGE_MAX_CHARS = 1_000_000
# Larger files are named in the outcome and skipped: no reader of a turn profits from chunk 50,000 of a log.
DOCUMENT_MAX_BYTES = 32 * 1024 * 1024
# Scanned books are this large and hold no more text than others; it is held once while the file is read.
PDF_MAX_BYTES = 128 * 1024 * 1024

# The fence the host scrubs from model echoes (hermes: agent/memory_manager.py), and we from captured text.
FENCE_OPEN = "<memory-context>"
FENCE_CLOSE = "</memory-context>"

DIRECTORY_MODE = 0o700
FILE_MODE = 0o600
