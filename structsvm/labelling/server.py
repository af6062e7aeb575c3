"""The server of the page: on this machine only, for whoever has the address, one page at a time."""

from __future__ import annotations

import asyncio
import hmac
import json
import mimetypes
import secrets
import socket
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import suppress
from importlib.resources import files
from pathlib import Path
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import (
    FileResponse,
    JSONResponse,
    PlainTextResponse,
    Response,
    StreamingResponse,
)
from starlette.routing import Route

from structsvm.io.media import MEDIA
from structsvm.io.recording import Recording
from structsvm.labelling.kept import KeptLabels, Refused
from structsvm.labelling.learning import Learn, Learning
from structsvm.labelling.pyramid import Pyramid
from structsvm.plotting.report_pictures import knots

SHARED = ("draw.js", "traces.js", "page.css")  # of the report
KINDS = {".html": "text/html", ".css": "text/css", ".js": "text/javascript"}
HEADERS = {
    "Content-Security-Policy": "default-src 'self'; img-src 'self' data:",
    "Referrer-Policy": "no-referrer",  # the address has the token
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Cache-Control": "no-store",
}
MOST_BINS = 4000
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
        self.learning = Learning(learn, self._tell)
        self.token = secrets.token_urlsafe(24)
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.host = f"127.0.0.1:{self._socket.getsockname()[1]}"
        self.address = f"http://{self.host}/{self.token}/"
        self._pyramids: dict[int, Pyramid] = {}
        self._page = ""  # the one page that is open
        self._news: asyncio.Queue[Any] = asyncio.Queue()
        self._stretches = 0
        """So many were labelled when learning began."""
        self._server: Any = None
        self._loop: Any = None

    def run(self) -> None:
        """Answer until Ctrl-C."""
        routes = [
            Route("/{token}/", self._asset),
            Route("/{token}/assets/{name}", self._asset),
            Route("/{token}/news", self._open),
            Route("/{token}/traces/{i:int}", self._traces),
            Route("/{token}/media/{i:int}", self._media),
        ]
        acts: dict[str, Callable[[Any], Any]] = {
            "change": self._change,
            "step": self._step,
            "learn": self._learn,
            "stop": lambda _: self.learning.stop() or {},
        }
        routes += [
            Route(f"/{{token}}/{name}", self._act(act), methods=["POST"])
            for name, act in acts.items()
        ]
        app = Starlette(routes=routes)
        config = uvicorn.Config(self._guarded(app), log_level="warning", lifespan="off")
        self._server = uvicorn.Server(config)
        try:
            with suppress(KeyboardInterrupt):
                self._server.run(sockets=[self._socket])
        finally:
            self.learning.stop()

    # ---- who may ask

    def _guarded(self, app: Any) -> Any:
        async def guarded(scope: Any, receive: Any, send: Any) -> None:
            self._loop = asyncio.get_running_loop()
            request = Request(scope)
            said = self._refusal(request)
            answer = app if said is None else PlainTextResponse(said, 403, HEADERS)
            await answer(scope, receive, send)

        return guarded

    def _refusal(self, request: Request) -> str | None:
        """Why a request is not answered: it may come from a page of somebody else."""
        token = request.url.path.split("/")[1]
        origin = request.headers.get("origin")
        if request.headers.get("host") != self.host:
            return "This server is asked under another name than its own."
        if origin not in (None, f"http://{self.host}") or (
            origin is None and request.method == "POST"
        ):
            return "A page from elsewhere asks, which may not."
        if not hmac.compare_digest(token.encode(), self.token.encode()):
            return (
                "The address lacks its token: open the whole address that structsvm label prints."
            )
        return None

    # ---- what the page reads

    async def _asset(self, request: Request) -> Response:
        name = request.path_params.get("name", "label.html")
        room = "structsvm.plotting" if name in SHARED else "structsvm.labelling"
        path = files(room) / "assets" / name
        kind = KINDS.get(Path(name).suffix)
        if kind is None or not path.is_file():
            return PlainTextResponse("no such file", 404, HEADERS)
        return Response(path.read_bytes(), 200, HEADERS, kind)

    async def _traces(self, request: Request) -> Response:
        i = self._number(request)
        asked = request.query_params
        X = self.recordings[i].X
        start = min(max(int(asked["from"]), 0), len(X) - 1)
        end = min(max(int(asked["to"]), start + 1), len(X))
        first = max(int(asked["first"]), 0)
        if i not in self._pyramids:
            self._pyramids[i] = await asyncio.to_thread(Pyramid, X)
        bins = min(max(int(asked["bins"]), 1), MOST_BINS)
        columns = slice(first, first + int(asked["count"]))
        return JSONResponse(self._pyramids[i].traces(start, end, bins, columns), 200, HEADERS)

    async def _media(self, request: Request) -> Response:
        path = media_of(self.recordings[self._number(request)])
        return FileResponse(path, headers=HEADERS) if path else PlainTextResponse("none", 404)

    def _number(self, request: Request) -> int:
        return min(int(request.path_params["i"]), len(self.recordings) - 1)

    # ---- the one page that is open, and what it is told

    async def _open(self, request: Request) -> Response:
        for _ in range(PATIENCE):  # a page that is loaded again is about to go
            if not self._page:
                self._page = secrets.token_urlsafe(8)
                self._news = asyncio.Queue()
                self._news.put_nowait({"page": self._page, **self._everything()})
                return self._until_gone(StreamingResponse(self._told(request), 200, HEADERS))
            await asyncio.sleep(POLL)
        said = "This folder is open in another tab: go there, or close it and load this page again."
        return PlainTextResponse(said, 409, HEADERS)

    def _until_gone(self, news: Response) -> Any:
        async def told(scope: Any, receive: Any, send: Any) -> None:
            try:
                await news(scope, receive, send)
            finally:
                self._page = ""

        return told

    async def _told(self, request: Request) -> AsyncIterator[str]:
        while not (self._server.should_exit or await request.is_disconnected()):
            with suppress(TimeoutError):
                news = await asyncio.wait_for(self._news.get(), POLL)
                yield json.dumps(news) + "\n"

    def _tell(self, news: dict[str, Any]) -> None:
        """Let the page know, from any thread."""
        self._loop.call_soon_threadsafe(self._heard, news)

    def _heard(self, news: dict[str, Any]) -> None:
        if "learned" in news:
            news["learned"]["stretches"] = self._stretches
        if "learned" in news or "judged" in news:
            with suppress(Refused, OSError):
                self.kept.keep_learned(news)
        self._news.put_nowait(news)

    def _everything(self) -> dict[str, Any]:
        recordings = []
        for one in self.recordings:
            film = media_of(one)
            kind = film and (mimetypes.guess_type(film)[0] or "video").partition("/")[0]
            about = {"name": one.name, "T": len(one.X), "features": one.features}
            recordings.append(about | {"time": knots(one.time), "media": kind})
        learned = self.kept.learned
        return {
            "title": self.title,
            "folder": str(self.kept.table),
            "recordings": recordings,
            "labels": self.kept.segments,
            "can": self.kept.can,
            "found": learned[-1]["found"] if learned else {},
            "curve": [{k: v for k, v in one.items() if k != "found"} for one in learned],
        }

    # ---- what the page does

    def _act(self, act: Callable[[Any], Any]) -> Any:
        async def acting(request: Request) -> Response:
            asked = await request.json()
            if not self._page or asked.get("page") != self._page:
                said = "This page is not the one that is open: load it again."
                return PlainTextResponse(said, 409, HEADERS)
            try:
                return JSONResponse(act(asked), 200, HEADERS)
            except Refused as refused:
                return PlainTextResponse(str(refused), 409, HEADERS)
            except OSError as error:
                said = f"Not saved: {error.filename}: {error.strerror}"
                return PlainTextResponse(said, 507, HEADERS)

        return acting

    def _change(self, asked: Any) -> Any:
        self.kept.change(asked["labels"])
        return {"labels": {n: self.kept.segments[n] for n in asked["labels"]}, "can": self.kept.can}

    def _step(self, asked: Any) -> Any:
        changed = self.kept.step(asked["by"])
        return {"labels": {n: self.kept.segments[n] for n in changed}, "can": self.kept.can}

    def _learn(self, _: Any) -> Any:
        if self.learning.is_running:
            raise Refused("something is being learned already: stop it first")
        self.kept.check_files([one.name for one in self.recordings])
        self._stretches = sum(map(len, self.kept.segments.values()))
        self.learning.start(self.kept.are_named)
        return {}


def media_of(recording: Recording) -> Path | None:
    """The sound or film of a recording: itself, or a file of the same stem beside it."""
    if recording.source is None:
        return None
    path = Path(recording.source)
    beside = [path, *(path.with_suffix(kind) for kind in MEDIA)]
    return next((one for one in beside if one.suffix.lower() in MEDIA and one.is_file()), None)
