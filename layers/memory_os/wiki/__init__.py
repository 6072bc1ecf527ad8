"""Layer 6, the wiki: raw files become linked pages, and code keeps them in order."""

from memory_os.wiki.curated import Curated, Neighbour, Related
from memory_os.wiki.layer import Wiki, curates
from memory_os.wiki.lint import Finding
from memory_os.wiki.raw import RawFile

__all__ = ["Curated", "Finding", "Neighbour", "RawFile", "Related", "Wiki", "curates"]
