"""The server of the page: on this machine only, for one page at a time that has the address."""

import asyncio
import json
import mimetypes
import multiprocessing
import secrets
import signal
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from functools import cache
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
from structsvm.io.media import media_of
from structsvm.labelling.kept import KeptLabels
from structsvm.labelling.pyramid import Pyramid
from structsvm.plotting.report_pictures import knots
from structsvm.support import watching

HEADERS = {
    "Content-Security-Policy": "default-src 'self'; img-src 'self' data:",
    "Referrer-Policy": "no-referrer",  # the address holds the token
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "no-store",
}
SCRIPTS: list[Any] = [("structsvm.labelling", "assets"), ("structsvm.plotting", "assets")]
POLL = 0.1  # seconds from one look for news, and for whether the page is still open, to the next
PATIENCE = 20  # looks after which a page that is being closed must be gone


class Server:
    """Answers the page about the recordings of a folder.

    ``learn(are_named, tell)`` learns from the table of labels in a process of its own, states if
    segments are named and else changes, and passes its results to ``tell``.
    """

    def __init__(self, kept: KeptLabels, learn: Callable[..., None]) -> None:
        self.kept = kept
        self.token = secrets.token_urlsafe(24)
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.host = f"127.0.0.1:{self._socket.getsockname()[1]}"
        self.address = f"http://{self.host}/{self.token}/"
        self._learn = learn
        self._learning: Any = None  # the task that listens to the process that learns, if any
        self._pyramid = cache(lambda i: Pyramid(kept.recordings[i].X))
        self._page = ""  # the token of the only page that is open, if any
        self._news: list[dict[str, Any]] = []  # that the page was not sent yet
        routes = [
            Route("/{token}/news", self._open),
            Route("/{token}/traces/{window}", self._traces),
            Route("/{token}/media/{i:int}", self._media),
            Route("/{token}/{act}", self._act, methods=["POST"]),
            Mount("/{token}", StaticFiles(packages=SCRIPTS, html=True)),
        ]
        app = Starlette(routes=routes, exception_handlers={DataError: _refused, OSError: _refused})
        app.add_middleware(BaseHTTPMiddleware, dispatch=self._guard)
        self._server = uvicorn.Server(uvicorn.Config(app, log_level="warning", lifespan="off"))

    def run(self) -> None:
        """Answer until Ctrl-C."""
        with self._socket, suppress(KeyboardInterrupt):
            self._server.run(sockets=[self._socket])

    async def _guard(self, request: Request, answer: Any) -> responses.Response:
        """Answer or refuse a request, with headers that keep the page from loading more."""
        refusal = self._refusal(request)
        refused = responses.PlainTextResponse(refusal, 403)
        response = refused if refusal else await answer(request)
        response.headers.update(HEADERS)
        return response

    def _refusal(self, request: Request) -> str:
        """Why a request is refused, as it may come from another page; "" if it is not."""
        origin = request.headers.get("origin", "" if request.method == "POST" else None)
        if request.headers.get("host") != self.host:
            return "This server is asked under a name that is not its own."
        if origin not in (None, f"http://{self.host}"):
            return "A page from elsewhere asks, which may not."
        if not secrets.compare_digest(request.url.path.split("/")[1].encode(), self.token.encode()):
            return "The address lacks its token: open the whole one that structsvm label prints."
        return ""

    # ---- what the page reads

    async def _traces(self, request: Request) -> responses.Response:
        i, start, end, first, count, bins = map(int, request.path_params["window"].split(","))
        pyramid = await asyncio.to_thread(self._pyramid, i)
        return responses.JSONResponse(pyramid.traces(start, end, bins, slice(first, first + count)))

    async def _media(self, request: Request) -> responses.Response:
        path = media_of(self.kept.recordings[request.path_params["i"]])
        return responses.FileResponse(path) if path else responses.Response(status_code=404)

    # ---- the only page that is open, and what it is told

    async def _open(self, request: Request) -> responses.Response:
        for _ in range(PATIENCE):  # if the page is reloaded, the old one is about to close
            await asyncio.sleep(POLL if self._page else 0)
        if self._page:
            raise DataError("This folder is open in another tab: go there, or close that one.")
        self._page = secrets.token_urlsafe(8)
        self._news = [self._everything()]
        gone = BackgroundTask(setattr, self, "_page", "")
        return responses.StreamingResponse(self._told(request), background=gone)

    async def _told(self, request: Request) -> AsyncIterator[str]:
        while not (self._server.should_exit or await request.is_disconnected()):
            while self._news:
                yield json.dumps(self._news.pop(0)) + "\n"
            await asyncio.sleep(POLL)

    def _everything(self) -> dict[str, Any]:
        """The first news of a page: the recordings, their labels and all that was learned."""
        kept = self.kept
        recordings = [
            {"name": one.name, "T": len(one.X), "features": one.features}
            | {"time": knots(one.time), "media": mimetypes.guess_type(media_of(one) or "")[0]}
            for one in kept.recordings
        ]
        return {
            "page": self._page,
            "kept": str(kept.table),
            "title": kept.table.resolve().parents[1].name,
            "recordings": recordings,
            "known": kept.segments,
            "can": kept.can,
            "rounds": kept.learned,
            "learning": self._learning is not None,
        }

    # ---- what the page does

    async def _act(self, request: Request) -> responses.Response:
        arguments = await request.json()
        if not self._page or arguments.pop("page") != self._page:
            raise DataError("This page is not the one that is open: load it again.")
        before = self.kept.segments
        acts: dict[str, Callable[..., None]] = {"learn": self._start, "stop": self._stop}
        acts |= {"change": self.kept.change, "step": self.kept.step}
        acts[request.path_params["act"]](**arguments)
        changed = {name: y for name, y in self.kept.segments.items() if y != before[name]}
        return responses.JSONResponse({"labels": changed, "can": self.kept.can})

    def _start(self) -> None:
        if self._learning is None:
            self.kept.check_files(list(self.kept.segments))
            self._learning = asyncio.create_task(self._learn_beside())

    def _stop(self) -> None:
        if self._learning is not None:
            self._learning.cancel()

    async def _learn_beside(self) -> None:
        """Learn in a process that ends with this task, and pass on its news; files stay whole."""
        spawn = multiprocessing.get_context("spawn")  # a fork would copy the running server
        receiver, sender = spawn.Pipe(duplex=False)
        arguments = self._learn, self.kept.are_named, sender
        process = spawn.Process(target=_learn, args=arguments, daemon=True)
        process.start()
        sender.close()
        try:
            with receiver, suppress(EOFError, OSError):
                while True:
                    await asyncio.sleep(POLL)
                    while receiver.poll():
                        self._news.append(receiver.recv())
                        if self._news[-1].keys() & {"learned", "judged"}:
                            with suppress(DataError, OSError):
                                self.kept.keep(self._news[-1])
        finally:
            process.terminate()
            self._learning = None
            self._news.append({"ended": True})


def _refused(_: Request, error: Exception) -> responses.Response:
    """Answer with the message of an error; that of a file begins with its name."""
    message = f"{error.filename}: {error}" if isinstance(error, OSError) else str(error)
    return responses.PlainTextResponse(message, 409)


def _learn(learn: Callable[..., None], are_named: bool, sender: Any) -> None:
    """Learn in a process of its own, and send news and errors."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C ends the server, which ends this
    tell = sender.send
    try:
        with watching(lambda words, part: tell({"doing": words.split(": ")[-1], "part": part})):
            learn(are_named, tell)
    except StructSVMError as error:
        tell({"failed": str(error)})
    except Exception as error:
        tell({"failed": repr(error)})
        raise
