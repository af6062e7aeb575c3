"""Argparse that says which word was probably meant, and to which command an option was given."""

from __future__ import annotations

import argparse
import difflib
import re
import sys
from typing import Any, NoReturn

from structsvm.errors import printable


class Parser(argparse.ArgumentParser):
    """An argument parser that says which word was probably meant."""

    def __init__(self, **settings: Any) -> None:
        settings.setdefault("formatter_class", argparse.RawDescriptionHelpFormatter)
        super().__init__(allow_abbrev=False, **settings)

    def parse_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Parse; of an unknown option, the command it was given to complains."""
        found, unknown = self.parse_known_args(args, namespace)
        if unknown:
            self._command(found).error(f"unrecognized arguments: {' '.join(unknown)}")
        return found

    def error(self, message: str) -> NoReturn:
        """Print how the command is used and what was wrong; exit with status 2."""
        self.print_usage(sys.stderr)
        self._print_message(f"error: {message}{self._meant(message)}\n", sys.stderr)
        self._print_message(f"try: {self.prog} --help\n", sys.stderr)
        raise SystemExit(2)

    def _print_message(self, message: str, file: Any = None) -> None:
        """Print at once, so that a full disk is told of."""
        file = sys.stderr if file is None else file
        file.write(printable(message))
        file.flush()

    def options_of(self, command: str) -> dict[str, str]:
        """The options of a command by the parameter that each sets."""
        actions = self._command(argparse.Namespace(command=command))._actions
        return {
            action.dest: action.option_strings[-1] for action in actions if action.option_strings
        }

    def _command(self, found: argparse.Namespace) -> Parser:
        """The parser of the command that was named, or this one."""
        named = getattr(found, "command", None)
        for action in self._actions:
            if isinstance(action, argparse._SubParsersAction) and named is not None:
                command: Parser = action.choices[named]
                return command
        return self

    def _meant(self, message: str) -> str:
        invalid = re.search(r"invalid choice: '(.*?)' \(choose from (.*)\)", message)
        unknown = re.search(r"unrecognized arguments: (--[^\s=]+)", message)
        if invalid:
            word, known = invalid[1], re.findall(r"[\w-]+", invalid[2])
        elif unknown:
            word, known = unknown[1], list(self._option_string_actions)
        else:
            return ""
        if word in known:
            return ": it stands after the command"
        close = difflib.get_close_matches(word.replace("_", "-"), known, n=1)
        return f"; did you mean {close[0]}?" if close else ""
