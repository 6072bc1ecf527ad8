"""An instance over a real folder and a real memory.db, and its tools called as the engine calls them."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from memory_os.config import Settings, Values
from memory_os.fabric import Fabric
from memory_os.fabric.schema import fabric as fabric_schema
from memory_os.index import Index
from memory_os.store import open_store
from memory_os.tooling import Arguments, Caller


def _almighty() -> bool:
    """Whether file modes mean nothing to this user (root, usually)."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o500)
        try:
            (Path(folder) / "probe").touch()
        except PermissionError:
            return False
        finally:
            Path(folder).chmod(0o700)
    return True


ALMIGHTY = _almighty()

NOW = 1_790_000_000.0


def open_fabric(home: Path, folder: Path, agent: str) -> Fabric:
    settings = Settings(hermes_home=home, home=home / "memory-os", values=Values(agent=agent, fabric_dir=folder))
    store = open_store(settings.database, [fabric_schema])
    return Fabric(store, Index(store, "test"), settings)


def call(fabric: Fabric, tool: str, *, now: float = NOW, project: str = "", **arguments: Any) -> dict[str, Any]:
    """One tool call, as the engine makes it."""
    return fabric.tools()[tool](Arguments(tool, arguments), Caller(now=now, project=project, platform="cli"))


def write(fabric: Fabric, *, now: float = NOW, project: str = "", **arguments: Any) -> str:
    """Write an entry and return its agent:id."""
    given = {"type": "note", "content": "Nothing special.", "summary": "A note", **arguments}
    return str(call(fabric, "fabric_write", now=now, project=project, **given)["id"])


def put(folder: Path, name: str, text: str | bytes) -> Path:
    """A file as another program would leave it."""
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text if isinstance(text, bytes) else text.encode("utf-8"))
    return path


def summaries(result: dict[str, Any]) -> list[str]:
    return [item["summary"] for item in result["results"]]
