"""Names of files, columns and labels that carry commands for the terminal or for a browser."""

import io

import numpy as np
import pytest

from structsvm.cli import main
from structsvm.cli.terminal import Terminal, console, facts
from structsvm.support.tables import ShortTable

COLUMN = "\x1b[2Jspeed<script>alert(1)</script>\x9b31m"
HOSTILE = "a\x1b[2Jb\x9b31mc\x1b]0;title\x07d\x00e\x7f.csv"
LABEL = "\x1b]0;title\x07walk<img src=x onerror=alert(1)>"


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """Recordings and a model of them."""
    folder = tmp_path_factory.mktemp("hostile")
    rng = np.random.default_rng(0)
    for i in range(3):
        rows = [f'"{COLUMN}",b,label']
        for t in range(30):
            name = LABEL if t >= 15 else "rest"
            rows.append(f'{rng.normal() + 3 * (t >= 15)},{rng.normal()},"{name}"')
        (folder / f"\x1b[31mw{i}<b>.csv").write_text("\n".join(rows), encoding="utf-8")
    assert main(["fit", "change-point", str(folder), "-o", str(folder / "m"), "--quiet"]) == 0
    return folder


@pytest.mark.parametrize(
    "line",
    [
        "fit",
        "show",
        "show --json",
        "diagnose",
        "predict",
        "predict --json",
        "evaluate",
        "evaluate --json",
    ],
)
def test_nothing_commands_the_terminal(place, line, capsys):
    command, *options = line.split()
    files = sorted(map(str, place.glob("*.csv")))
    typed = {
        "fit": ["fit", "change-point", *files, "-o", str(place / "other"), "--force"],
        "show": ["show", str(place / "m")],
    }.get(command, [command, str(place / "m"), *files])
    assert main([*typed, *options]) == 0
    out, err = capsys.readouterr()
    for control in ("\x1b", "\x9b", "\x07"):
        assert control not in out + err
    if command in ("show", "predict"):
        assert "1b" in out  # the name is there, spelled out


def test_the_page_holds_the_names_as_text(place, capsys):
    files = sorted(map(str, place.glob("*.csv")))
    assert main(["report", str(place / "m"), *files, "-o", str(place / "r.html"), "--force"]) == 0
    page = (place / "r.html").read_text(encoding="utf-8")
    for markup in ("<script>alert", "<img src=x", "<b>.csv", "w0<b>"):
        assert markup not in page
    assert "alert(1)" in page  # as text, in the JSON that the page reads
    assert "\x1b" not in capsys.readouterr().err


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
