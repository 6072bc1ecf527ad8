"""A worker's way to the service: the unix socket of its own home, or a URL with a token. Synchronous, any thread."""

from __future__ import annotations

import base64
import http.client
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from memory_os import __version__
from memory_os.config import Settings
from memory_os.errors import ConfigError, ServiceUnavailable
from memory_os.loopback import is_loopback_host

from memory_os_workers.client import ServiceClient, error_of

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

# A commit of a large document, or a maintenance duty.
TIMEOUT_S = 120.0


class WorkClient:
    """`/v1/workers/*`. Every call raises the error the service answers with, or ServiceUnavailable."""

    def __init__(self, settings: Settings, url: str = "", token: str = "") -> None:
        self._settings = settings
        self._url = url
        self._token = token
        parts = urlsplit(url)
        if url and (parts.scheme not in ("http", "https") or not parts.hostname):
            raise ConfigError(f"--service {url} is no URL of a service.", cure="For example `http://127.0.0.1:8765`.")
        if parts.scheme == "http" and not is_loopback_host(parts.hostname or ""):
            raise ConfigError(
                f"--service {url} would send the token and what was said in the clear.",
                cure="Use a tunnel to 127.0.0.1, or https:// (docs/scaling.md).",
            )

    @property
    def shown(self) -> str:
        return self._url or str(self._settings.socket)

    def hello(self, worker: str) -> dict[str, Any]:
        """Who the service is: `home_id`, `fingerprint`, `version`, `home`."""
        return self.post("hello", {"worker": worker, "version": __version__})

    def texts(self, hashes: list[str]) -> dict[str, str]:
        """What is still to be embedded of these, by hash."""
        return {str(key): str(text) for key, text in self.post("texts", {"hashes": hashes})["texts"].items()}

    def embeddings(self, fingerprint: str, vectors: Mapping[str, NDArray[np.float32]]) -> int:
        """Deliver vectors, shape (dimension,). Returns how many the service kept."""
        encoded = {key: base64.b64encode(vector.astype("<f4").tobytes()).decode() for key, vector in vectors.items()}
        return int(self.post("embeddings", {"fingerprint": fingerprint, "vectors": encoded})["kept"])

    def dead_letter(self, letter: dict[str, Any]) -> None:
        self.post("dead_letter", letter)

    def post(self, route: str, body: dict[str, Any], timeout: float = TIMEOUT_S) -> dict[str, Any]:
        """POST to /v1/workers/<route>."""
        return self.request(f"/v1/workers/{route}", body, timeout)

    def request(self, path: str, body: dict[str, Any], timeout: float = TIMEOUT_S) -> dict[str, Any]:
        """POST to any route of the service."""
        if not self._url:
            return ServiceClient(self._settings).post(path, body, timeout=timeout)
        return self._post_over_tcp(path, body, timeout)

    def _post_over_tcp(self, path: str, body: dict[str, Any], timeout: float) -> dict[str, Any]:
        parts = urlsplit(self._url)
        kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
        connection = kind(parts.hostname or "", parts.port, timeout=timeout)
        headers = {"Content-Type": "application/json", "Authorization": f"Bearer {self._token}"}
        try:
            connection.request("POST", parts.path.rstrip("/") + path, json.dumps(body).encode(), headers)
            response = connection.getresponse()
            answer = json.loads(response.read())
        except (OSError, http.client.HTTPException, ValueError) as error:
            raise ServiceUnavailable(
                f"The service at {self._url} can't be reached: {error or type(error).__name__}.",
                cure="Start it, or correct --service.",
            ) from error
        finally:
            connection.close()
        if response.status != 200 or not isinstance(answer, dict):
            raise error_of(answer if isinstance(answer, dict) else {}, response.status)
        return answer


def service_token(settings: Settings, environ: Mapping[str, str] = os.environ) -> str:
    """The token of a service behind a URL: from the environment, else from this home's `run/token`."""
    return environ.get("MEMORY_OS_SERVICE_TOKEN") or _read(settings.run_dir / "token")


def _read(path: Path) -> str:
    try:
        return path.read_text("ascii", "replace").strip()
    except OSError:
        return ""


def vectors_of(encoded: Mapping[str, str], dimension: int) -> dict[str, NDArray[np.float32]]:
    """The vectors of a delivery. Raises ValueError for one that is none of this dimension."""
    import numpy as np

    vectors = {}
    for key, text in encoded.items():
        vector = np.frombuffer(base64.b64decode(text, validate=True), "<f4")
        # Memory keeps them in half the width, which has an end at 65,504.
        if vector.shape != (dimension,) or not (np.abs(vector) <= np.finfo(np.float16).max).all():
            raise ValueError(f"{key} has no vector of dimension {dimension}")
        vectors[key] = vector
    return vectors
