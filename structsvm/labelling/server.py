"""The server of the page: on this machine only, for whoever has the address, one page at a time."""

from __future__ import annotations

import asyncio
import hmac
import json
import mimetypes
import multiprocessing
import secrets
import signal
import socket
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import suppress
from functools import cache
from multiprocessing.connection import Connection
from pathlib import Path
from threading import Thread
from typing import Any

import uvicorn
from starlette import responses
from starlette.applications import Starlette
from starlette.background import BackgroundTask
from starlette.middleware.base import BaseHTTPMiddleware
from starlette.requests import Request
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from structsvm.errors import DataError, StructSVMError
from structsvm.io.media import MEDIA
from structsvm.io.recording import Recording
from structsvm.labelling.kept import KeptLabels
from structsvm.labelling.pyramid import Pyramid
from structsvm.plotting.report_pictures import knots
from structsvm.support.progress import watching

Learn = Callable[[bool, Callable[[dict[str, Any]], None]], None]
"""Learns from the table of labels, states if segments are named, and tells what came of it."""

HEADERS = {
    "Content-Security-Policy": "default-src 'self'; img-src 'self' data:",
    "Referrer-Policy": "no-referrer",  # the address has the token
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "no-store",
}
SCRIPTS: list[Any] = [("structsvm.labelling", "assets"), ("structsvm.plotting", "assets")]
POLL = 0.5  # seconds after which a page is asked whether it is still there
PATIENCE = 4  # polls until a page that is being closed must be gone


class Server:
    """What the page asks for, about the recordings of a folder."""

    def __init__(
        self, title: str, recordings: Sequence[Recording], kept: KeptLabels, learn: Learn
    ) -> None:
        self.title = title
        self.recordings = recordings
        self.kept = kept
        self.token = secrets.token_urlsafe(24)
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.host = f"127.0.0.1:{self._socket.getsockname()[1]}"
        self.address = f"http://{self.host}/{self.token}/"
        self._learn = learn
        self._learning: Any = None  # the process that learns, if one does
        self._pyramid = cache(lambda i: Pyramid(recordings[i].X))
        self._page = ""  # the only one that is open
        self._news: asyncio.Queue[Any] = asyncio.Queue()
        self._loop: Any = None
        routes = [
            Route("/{token}/", self._html),
            Mount("/{token}/assets", StaticFiles(packages=SCRIPTS)),
            Route("/{token}/news", self._open),
            Route("/{token}/traces/{window}", self._traces),
            Route("/{token}/media/{i:int}", self._media),
            Route("/{token}/{act}", self._act, methods=["POST"]),
        ]
        app = Starlette(routes=routes, exception_handlers={DataError: _refused, OSError: _refused})
        app.add_middleware(BaseHTTPMiddleware, dispatch=self._guard)
        self._server = uvicorn.Server(uvicorn.Config(app, log_level="warning", lifespan="off"))

    def run(self) -> None:
        """Answer until Ctrl-C."""
        with suppress(KeyboardInterrupt):
            self._server.run(sockets=[self._socket])
        self._socket.close()
        self._stop()

    async def _guard(self, request: Request, answer: Any) -> responses.Response:
        """Answer those who may ask, so that their page loads nothing from elsewhere."""
        refusal = self._refusal(request)
        response = await answer(request) if not refusal else _said(refusal, 403)
        response.headers.update(HEADERS)
        return response

    def _refusal(self, request: Request) -> str:
        """Why a request is not answered, which may come from a page of somebody else."""
        origin = request.headers.get("origin", "" if request.method == "POST" else None)
        if request.headers.get("host") != self.host:
            return "This server is asked under a name that is not its own."
        if origin not in (None, f"http://{self.host}"):
            return "A page from elsewhere asks, which may not."
        if not hmac.compare_digest(request.url.path.split("/")[1].encode(), self.token.encode()):
            return "The address lacks its token: open the whole one that structsvm label prints."
        return ""

    # ---- what the page reads

    async def _html(self, _: Request) -> responses.Response:
        return responses.FileResponse(Path(__file__).parent / "assets" / "label.html")

    async def _traces(self, request: Request) -> responses.Response:
        i, start, end, first, count, bins = map(int, request.path_params["window"].split(","))
        pyramid = await asyncio.to_thread(self._pyramid, i)
        traces = pyramid.traces(start, end, bins, slice(first, first + count))
        return responses.JSONResponse(traces)

    async def _media(self, request: Request) -> responses.Response:
        path = media_of(self.recordings[request.path_params["i"]])
        return responses.FileResponse(path) if path else _said("no sound or film", 404)

    # ---- the only page that is open, and what it is told

    async def _open(self, request: Request) -> responses.Response:
        for _ in range(PATIENCE):  # a page that is loaded again is about to go
            if not self._page:
                self._page = secrets.token_urlsafe(8)
                self._news = asyncio.Queue()
                self._news.put_nowait({"page": self._page, **self._everything()})
                self._loop = asyncio.get_running_loop()
                gone = BackgroundTask(setattr, self, "_page", "")
                return responses.StreamingResponse(self._told(request), background=gone)
            await asyncio.sleep(POLL)
        raise DataError("This folder is open in another tab: go there, or close it and come back.")

    async def _told(self, request: Request) -> AsyncIterator[str]:
        while not (self._server.should_exit or await request.is_disconnected()):
            with suppress(TimeoutError):
                news = await asyncio.wait_for(self._news.get(), POLL)
                yield json.dumps(news) + "\n"

    def _everything(self) -> dict[str, Any]:
        recordings = [
            {"name": one.name, "T": len(one.X), "features": one.features}
            | {"time": knots(one.time), "media": mimetypes.guess_type(media_of(one) or "")[0]}
            for one in self.recordings
        ]
        about: dict[str, Any] = {
            "title": self.title,
            "kept": str(self.kept.table),
            "recordings": recordings,
        }
        about |= {"known": self.kept.segments, "learning": self._learning is not None}
        return about | {"can": self.kept.can, "rounds": self.kept.learned}

    # ---- what the page does

    async def _act(self, request: Request) -> responses.Response:
        asked = await request.json()
        if not self._page or asked["page"] != self._page:
            raise DataError("This page is not the one that is open: load it again.")
        before = self.kept.segments
        acts: dict[str, Callable[[], None]] = {
            "change": lambda: self.kept.change(asked["labels"]),
            "step": lambda: self.kept.step(asked["by"]),
            "learn": self._start,
            "stop": self._stop,
        }
        acts[request.path_params["act"]]()
        after = self.kept.segments
        changed = {name: some for name, some in after.items() if some != before[name]}
        return responses.JSONResponse({"labels": changed, "can": self.kept.can})

    def _start(self) -> None:
        if self._learning is not None:
            return
        self.kept.check_files(list(self.kept.segments))
        spawn = multiprocessing.get_context("spawn")  # nothing of the server is in it
        here, there = spawn.Pipe(duplex=False)
        about = self._learn, self.kept.are_named, there
        self._learning = spawn.Process(target=_learn, args=about, daemon=True)
        self._learning.start()
        there.close()
        Thread(target=self._listen, args=(here,), daemon=True).start()

    def _stop(self) -> None:
        if self._learning is not None:
            self._learning.terminate()

    def _listen(self, here: Connection) -> None:
        """Pass on what the process tells, until it ends; it writes the model whole or not."""
        with suppress(EOFError, OSError):
            while True:
                self._loop.call_soon_threadsafe(self._hear, here.recv())
        self._loop.call_soon_threadsafe(self._hear, {"ended": True})

    def _hear(self, news: dict[str, Any]) -> None:
        if "learned" in news or "judged" in news:
            with suppress(DataError, OSError):
                self.kept.keep(news)
        if "ended" in news:
            self._learning = None
        self._news.put_nowait(news)


def _refused(_: Request, error: Exception) -> responses.Response:
    """Say why something cannot be; of a file that cannot be written, which one it is."""
    return _said(f"{error.filename}: {error}" if isinstance(error, OSError) else str(error), 409)


def _said(words: str, status: int) -> responses.Response:
    return responses.PlainTextResponse(words, status)


def _learn(learn: Learn, are_named: bool, there: Connection) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # which is for the server, and ends this as well

    def watcher(words: str, part: float) -> None:
        there.send({"doing": words.split(": ")[-1], "part": part})

    try:
        with watching(watcher):
            learn(are_named, there.send)
    except Exception as error:
        there.send({"failed": str(error) if isinstance(error, StructSVMError) else repr(error)})
        if not isinstance(error, StructSVMError):
            raise


def media_of(recording: Recording) -> Path | None:
    """The sound or film of a recording: itself, or a file of the same stem beside it."""
    path = Path(recording.source or "")
    beside = [path, *(path.with_suffix(kind) for kind in MEDIA)] if path.name else []
    return next((one for one in beside if one.suffix.lower() in MEDIA and one.is_file()), None)
