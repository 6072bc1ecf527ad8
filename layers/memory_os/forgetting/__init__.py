"""Forgetting: out of every layer, the ledgers, the spool and the backups, with proof. On request, or by "forget that"."""

from memory_os.forgetting.forget import Forget
from memory_os.forgetting.taking_back import TakingBack

__all__ = ["Forget", "TakingBack"]
