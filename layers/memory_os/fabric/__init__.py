"""Layer 4: the fabric, a folder of Markdown entries that several Hermes instances share."""

from memory_os.fabric.card import Card
from memory_os.fabric.entry import Entry
from memory_os.fabric.layer import Fabric, Forgotten
from memory_os.fabric.mirror import Refreshed
from memory_os.fabric.pending import PendingWork

__all__ = ["Card", "Entry", "Fabric", "Forgotten", "PendingWork", "Refreshed"]
