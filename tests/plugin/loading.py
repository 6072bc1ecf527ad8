"""The plugin's folder as a package: it is one only inside Hermes, which imports it under a name of its own."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

FOLDER = Path(__file__).resolve().parents[2] / "plugins" / "memory_os"
PACKAGE = "memory_os_plugin"


def load(name: str = PACKAGE, folder: Path = FOLDER) -> ModuleType:
    """Import the folder as the host does: from its path, as a package, so that relative imports work."""
    if name in sys.modules:
        return sys.modules[name]
    spec = importlib.util.spec_from_file_location(
        name, folder / "__init__.py", submodule_search_locations=[str(folder)]
    )
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


load()
