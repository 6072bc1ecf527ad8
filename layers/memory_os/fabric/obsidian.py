"""Starter files for reading the fabric in Obsidian, without any of its plugins. Nothing is ever overwritten."""

from __future__ import annotations

from memory_os.fabric.folder import Folder

# `fabric: false` keeps a note out of the fabric; embedded searches are part of Obsidian itself.
_HOME = """---
fabric: false
---

# Fabric

Each note in this folder is one entry, written by an agent or by you. The properties at its top say what it is.

## Open tasks

```query
["type":task] -["status":completed] -["status":cancelled]
```

## Decisions

```query
["type":decision]
```

## Reviews

```query
["type":review]
```

## Hot

```query
["tier":hot]
```

## Writing here yourself

A plain note becomes an entry: give it a `summary` and a `type` (task, decision, review, resolution, research, note) if
you like. Keep to notes of your own: an agent's note is answered by a new one with `revises: agent:id`, not by an edit.
A note with `fabric: false` is left alone.
"""

_APP = """{
  "propertiesInDocument": "visible",
  "alwaysUpdateLinks": false
}
"""

FILES = {"Home.md": _HOME, ".obsidian/app.json": _APP}


def start(folder: Folder) -> dict[str, list[str]]:
    """Write what is missing. Returns the paths `created` and `kept`. Raises FabricError."""
    result: dict[str, list[str]] = {"created": [], "kept": []}
    for path, text in FILES.items():
        made = folder.ensure(path, text.encode("utf-8"))
        result["created" if made else "kept"].append(path)
    return result
