"""The library: seven layers of memory, and the two flows (recall, capture) through them."""

__version__ = "0.1.0"
