"""Servers of label pages that run during a test, and requests to them without a browser."""

import http.client
import json
from argparse import Namespace
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from threading import Thread
from urllib.parse import urlsplit

from structsvm.cli.label import learn, recordings_of
from structsvm.cli.request import Request
from structsvm.cli.terminal import Terminal
from structsvm.labelling.kept import KeptLabels
from structsvm.labelling.server import Server


@contextmanager
def served(folder, **typed):
    """Answer the page of a folder from another thread; the server."""
    about = {"paths": [str(folder)], "set": [], "problem": "change-point", **typed}
    labels = folder / "labels"
    request = replace(Request.of(Namespace(**about)), labels=labels)
    recordings = recordings_of(request, Terminal(quiet=True))
    labels.mkdir(exist_ok=True)
    server = Server(KeptLabels(labels, recordings), partial(learn, request))
    thread = Thread(target=server.run)
    thread.start()
    try:
        yield server
    finally:
        server._server.should_exit = True
        thread.join()


class Asking:
    """A page without a browser."""

    def __init__(self, address):
        self.parts = urlsplit(address)
        self.origin = f"http://{self.parts.netloc}"
        self.news = None
        self.connection = None

    def ask(self, path, data=None, token=None, **headers):
        """The status, the headers and the text of an answer."""
        connection = http.client.HTTPConnection(self.parts.netloc)
        own = {} if data is None else {"Origin": self.origin}
        body = None if data is None else json.dumps(data)
        path = (self.parts.path if token is None else f"/{token}/") + path
        connection.request("GET" if data is None else "POST", path, body, own | headers)
        answer = connection.getresponse()
        text = answer.read().decode(errors="replace")
        connection.close()
        return answer.status, answer.headers, text

    def open(self):
        """Open the page; all that it is told at first."""
        self.close()
        self.connection = http.client.HTTPConnection(self.parts.netloc)
        self.connection.request("GET", self.parts.path + "news")
        self.answer = self.connection.getresponse()
        if self.answer.status != 200:
            return self.answer.status, self.answer.read().decode()
        self.news = self.hear()
        return self.answer.status, self.news

    def hear(self):
        return json.loads(self.answer.readline())

    def close(self):
        if self.connection is not None:
            self.answer.close()
            self.connection.close()

    def post(self, act, **data):
        status, _, text = self.ask(act, {"page": self.news["page"], **data})
        return status, json.loads(text) if status == 200 else text
