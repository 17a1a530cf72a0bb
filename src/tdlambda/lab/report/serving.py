"""A local server of the page, which is updated as results arrive."""

from __future__ import annotations

import hashlib
import json
import sys
import threading
import time
import warnings
from collections.abc import Callable, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from ipaddress import ip_address
from pathlib import Path
from typing import Any

from tdlambda.lab.report.page import embedded, filled, load
from tdlambda.lab.report.page_data import page_data

INTERVAL = 2.0
"""Seconds between checks of the directories."""
_REST = 4.0
"""The wait after an update, as a multiple of the time that it took, so that the runs keep the processors."""


class _Http(ThreadingHTTPServer):
    """A server that says nothing of clients that leave before they have their answer."""

    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Print the error that a request raised, unless the connection was closed or timed out."""
        if not isinstance(sys.exception(), ConnectionError | TimeoutError):
            super().handle_error(request, client_address)


class Server:
    """A server of the page of some directories. It reads nothing else, and answers only `GET`.

    Parameters
    ----------
    directories
        Results directories.
    port
        Port in [0, 65535]; 0 chooses a free one.
    host
        Address to listen on; by default only this machine can connect.
    """

    def __init__(self, directories: Sequence[Path], port: int = 0, host: str = "127.0.0.1") -> None:
        self.directories = list(directories)
        self._seen = self._signature()
        self.data, self.version = self._load_data()
        self._stop = threading.Event()
        local = _is_local(host)
        own = self

        class Handler(BaseHTTPRequestHandler):
            """Answers with the page, its data, and the version of its data."""

            server_version, sys_version = "tdlambda", ""

            def do_GET(self) -> None:
                """Answer with the page, its data, or the version of its data."""
                name = self.headers.get("Host", "").rpartition(":")[0].strip("[]")
                if local and not _is_local(name):  # DNS rebinding: a foreign name that resolves to this machine
                    return self._answer(403, "text/plain", "this page is only served to this machine")
                data, version = own.data, own.version
                answers: dict[str, Callable[[], tuple[str, str]]] = {
                    "/": lambda: ("text/html", filled(data["studies"], version)),
                    "/data": lambda: ("application/json", embedded(data)),
                    "/version": lambda: ("application/json", json.dumps({"version": version})),
                }
                if self.path not in answers:
                    return self._answer(404, "text/plain", "not found: only the page is served")
                return self._answer(200, *answers[self.path]())

            def _answer(self, code: int, kind: str, text: str) -> None:
                content = text.encode()
                self.send_response(code)
                for name, value in (
                    ("Content-Type", f"{kind}; charset=utf-8"), ("Content-Length", str(len(content))),
                    ("Cache-Control", "no-store"), ("X-Content-Type-Options", "nosniff"),
                    ("Cross-Origin-Resource-Policy", "same-origin"),
                ):  # fmt: skip
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(content)

            def log_message(self, *_: Any) -> None:
                """Log nothing."""

        try:
            self._http = _Http((host, port), Handler)
        except (OSError, OverflowError) as error:
            raise ValueError(f"--port: cannot listen on {host}:{port}: {error}") from error

    @property
    def url(self) -> str:
        """Address of the page."""
        host, port = self._http.server_address[:2]
        return f"http://{host if isinstance(host, str) else host.decode()}:{port}/"

    def serve(self) -> None:
        """Serve until `close` or Ctrl-C."""
        threading.Thread(target=self._watch, daemon=True).start()
        try:
            self._http.serve_forever(poll_interval=0.1)
        except KeyboardInterrupt:
            pass
        finally:
            self._stop.set()
            self._http.server_close()

    def close(self) -> None:
        """Stop serving, from another thread."""
        self._stop.set()
        self._http.shutdown()

    def _watch(self) -> None:
        """Update the data when results have changed."""
        wait = INTERVAL
        while not self._stop.wait(wait):
            seen, begun = self._signature(), time.perf_counter()
            wait = INTERVAL
            if seen != self._seen:
                try:
                    self.data, self.version = self._load_data()
                    self._seen = seen
                except (OSError, ValueError):  # for example, a manifest is being replaced: try again
                    pass
                wait = max(INTERVAL, _REST * (time.perf_counter() - begun))

    def _load_data(self) -> tuple[dict[str, Any], str]:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # `load_results` warns of damaged units, which are left out
            views, manifests = load(self.directories)
        data = {"studies": [page_data(view, about) for view, about in zip(views, manifests, strict=True)]}
        return data, hashlib.sha256(embedded(data).encode()).hexdigest()[:16]

    def _signature(self) -> list[tuple[str, int, int]]:
        """The result files with their times and sizes."""
        found = []
        for directory in self.directories:
            for path in [directory / "manifest.json", *directory.glob("units/*/*.parquet")]:
                try:
                    about = path.stat()
                except FileNotFoundError:
                    continue
                found.append((str(path), about.st_mtime_ns, about.st_size))
        return sorted(found)


def _is_local(host: str) -> bool:
    """Whether a host is this machine itself."""
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False
