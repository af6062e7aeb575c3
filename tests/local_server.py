"""A server of files on this machine, which counts requests and can break off."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path


class Server(ThreadingHTTPServer):
    """Serves a folder; ``requested`` lists what was asked for."""

    daemon_threads = True

    def __init__(self, folder: Path, breaks_off: bool) -> None:
        self.requested: list[str] = []
        self.breaks_off = breaks_off
        super().__init__(("127.0.0.1", 0), partial(_Handler, directory=str(folder)))

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class _Handler(SimpleHTTPRequestHandler):
    server: Server

    def do_GET(self) -> None:
        self.server.requested.append(self.path)
        if not self.server.breaks_off:
            super().do_GET()
            return
        content = Path(self.translate_path(self.path)).read_bytes()
        self.send_response(200)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content[: len(content) // 2])

    def log_message(self, *arguments: object) -> None:
        pass


@contextmanager
def serving(folder: Path, breaks_off: bool = False) -> Iterator[Server]:
    server = Server(folder, breaks_off)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
