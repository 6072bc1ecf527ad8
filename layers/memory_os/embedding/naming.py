"""What status, doctor and the command line say of the embedding model: its name, where it runs, what it is sent."""

from __future__ import annotations

from memory_os.config import Settings
from memory_os.llm.endpoint import public_address
from memory_os.loopback import is_loopback


def model_line(settings: Settings) -> str:
    """The model's name and where it is."""
    embedding = settings.values.embedding
    if embedding.engine == "endpoint":
        return f"{embedding.model} at {public_address(embedding.base_url) or 'no address'}"
    if embedding.engine == "fastembed":
        folder = f", from {settings.home / embedding.folder}" if embedding.folder is not None else ""
        return f"{embedding.model} by fastembed{folder}"
    return f"{embedding.model}, in the service itself"


def model_egress(settings: Settings) -> str:
    """What leaves this machine to be embedded and where it goes; empty where nothing does."""
    embedding = settings.values.embedding
    if embedding.engine != "endpoint" or not embedding.base_url or is_loopback(embedding.base_url):
        return ""
    return f"every text of this memory and every question, to be embedded, to {public_address(embedding.base_url)}"
