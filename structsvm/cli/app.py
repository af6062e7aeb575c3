"""The command ``structsvm`` itself: it runs one of its commands, and tells how that ended."""

import argparse
import logging
import os
import sys
import time
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from importlib import import_module
from typing import Any

from structsvm.cli.options import Parser
from structsvm.cli.terminal import Spelling, Terminal
from structsvm.cli.usage import build_parser
from structsvm.errors import (
    CheckpointWarning,
    DataWarning,
    OracleError,
    PluginError,
    StructSVMError,
    join,
    said_by,
)
from structsvm.support import culprit

FAILED, USAGE, INTERRUPTED = 1, 2, 130
HINT = "--verbose shows the traceback"
logger = logging.getLogger("structsvm")


def run(argv: Sequence[str], ago: float = 0.0) -> int:
    """Run ``structsvm``, which began ``ago`` seconds before; return its exit status."""
    start = time.monotonic() - ago
    parser = build_parser()
    terminal = Terminal()
    args = argparse.Namespace(verbose=False)
    try:
        args = parser.parse_args(argv)  # which prints help
        args.began = start
        if args.command is None:
            parser.print_help(sys.stderr)
            return USAGE
        spelling = Spelling(partial(_options, parser, args))
        terminal = Terminal(args.json, args.quiet, args.verbose, spelling=spelling)
        with _messages(terminal):
            command: Any = import_module(f"structsvm.cli.{args.module}")
            code: int = getattr(command, f"run_{args.command}")(args, terminal)
        sys.stdout.flush()
        return code
    except BrokenPipeError:
        # The reader of stdout has gone; Python must not write there when it exits either.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FAILED
    except KeyboardInterrupt as interrupt:
        terminal.err.print(f"interrupted {interrupt}".rstrip())
        return INTERRUPTED
    except StructSVMError as error:
        cause = error.__cause__
        while isinstance(cause, StructSVMError):
            cause = cause.__cause__
        is_of_plugin = isinstance(error, PluginError | OracleError) and cause is not None
        hint = [HINT] if is_of_plugin and not args.verbose else []
        terminal.error(join([error.message, *getattr(error, "__notes__", ()), *hint], "; "))
    except OSError as error:
        message = f"{error.filename or ''}: {error.strerror or error}".removeprefix(": ")
        terminal.error(message)
    except Exception as error:
        plugin = culprit(error)
        if plugin is None or args.verbose:
            raise
        terminal.error(f"{plugin} raised {type(error).__name__}: {error}; {HINT}")
    return FAILED


def _options(parser: Parser, args: argparse.Namespace) -> dict[str, str]:
    from structsvm.cli.request import options_for

    return options_for(parser, args.command, getattr(args, "problem", None))


@contextmanager
def _messages(terminal: Terminal) -> Iterator[None]:
    """Show warnings, and the log if ``--verbose`` asks for it, while a command runs."""
    from rich.logging import RichHandler
    from sklearn.exceptions import ConvergenceWarning

    def show_warning(message: Warning, category: Any, file: str, line: int, *_: Any) -> None:
        terminal.warn(said_by(message), getattr(message, "origin", (category, file, line)))

    def tell(record: logging.LogRecord) -> None:
        show = terminal.warn if record.levelno >= logging.WARNING else terminal.note
        show(record.getMessage())

    handler = logging.Handler()
    handler.emit = tell  # type: ignore[method-assign]
    log = logging.getLogger("structsvm.compiled")
    level = logging.INFO
    if terminal.verbose:
        log = logger
        level = logging.DEBUG
        handler = RichHandler(console=terminal.err, show_path=False, omit_repeated_times=False)
    before = log.level
    log.addHandler(handler)
    log.setLevel(level)
    try:
        with warnings.catch_warnings():
            for category in (CheckpointWarning, DataWarning, ConvergenceWarning):
                warnings.simplefilter("always", category)
            warnings.showwarning = show_warning  # type: ignore[assignment]
            yield
    except StructSVMError:
        logger.debug("where the error comes from", exc_info=True)
        raise
    finally:
        terminal.count_warnings()
        log.removeHandler(handler)
        log.setLevel(before)
