"""What is extracted of a turn goes with it: the engine and the scripted model are those of understanding."""

from __future__ import annotations

from understanding.conftest import bench, model_server

__all__ = ["bench", "model_server"]
