"""Names of files, features and labels are shown, and never obeyed by the terminal."""

import io

import pytest

from structsvm.cli.parser import Parser
from structsvm.cli.terminal import Terminal, console, facts
from structsvm.support.tables import ShortTable

HOSTILE = "a\x1b[2Jb\x9b31mc\x1b]0;title\x07d\x00e\x7f.csv"


@pytest.fixture
def terminal():
    """On a screen with colours, which a program writes by the same kind of sequences."""
    settings = {"force_terminal": True, "width": 200}
    return Terminal(
        out=console(file=io.StringIO(), **settings), err=console(file=io.StringIO(), **settings)
    )


@pytest.mark.parametrize(
    "tell",
    [
        lambda terminal: terminal.report(None, HOSTILE),
        lambda terminal: terminal.report(None, facts([(HOSTILE, "feature")])),
        lambda terminal: terminal.report(
            None, str(ShortTable(HOSTILE, ("feature",), ((HOSTILE,),)))
        ),
        lambda terminal: terminal.note(HOSTILE),
        lambda terminal: terminal.warn(HOSTILE),
        lambda terminal: terminal.error(HOSTILE),
    ],
    ids=["text", "facts", "table", "note", "warning", "error"],
)
def test_control_characters_are_spelled_out(terminal, tell):
    tell(terminal)
    written = terminal.out.file.getvalue() + terminal.err.file.getvalue()
    for command in ("\x1b[2J", "\x9b", "\x1b]", "\x07", "\x00", "\x7f"):
        assert command not in written
    assert r"a\x1b[2Jb\x9b31mc\x1b]0;title" in written


def test_what_is_being_done_is_shown_without_them(terminal):
    with terminal.working(f"reading {HOSTILE}"):
        pass
    written = terminal.err.file.getvalue()
    assert "\x1b[2J" not in written
    assert "\x9b" not in written


def test_colours_stay(terminal):
    terminal.error("no such file")
    assert terminal.err.file.getvalue().startswith("\x1b[31m")


def test_lines_and_columns_stay(terminal):
    terminal.report(None, "one\ttwo\nthree")
    assert [line.split() for line in terminal.out.file.getvalue().splitlines()] == [
        ["one", "two"],
        ["three"],
    ]


def test_wrong_usage_spells_them_out_too(capsys):
    parser = Parser(prog="structsvm")
    parser.add_argument("--count", type=int)
    with pytest.raises(SystemExit):
        parser.parse_args(["--count", HOSTILE.replace("\x00", "")])
    err = capsys.readouterr().err
    assert "\x1b[2J" not in err
    assert "\x9b" not in err
