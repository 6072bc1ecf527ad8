"""`python -m memory_os_workers.cli`, which is how the service is started detached."""

from __future__ import annotations

import sys

from memory_os_workers.entry import main

if __name__ == "__main__":
    sys.exit(main())
