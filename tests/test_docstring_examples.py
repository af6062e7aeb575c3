"""Every public name has an example in its docstring, and the example runs."""

import doctest
import inspect
import re
from importlib import import_module
from itertools import pairwise

import matplotlib as mpl
import pytest
from public_rooms import public_things

THINGS = public_things()
DEEP = re.compile(r"(?:from|import) structsvm\.\w+\.")


@pytest.mark.parametrize("address", THINGS)
def test_the_example_of_a_public_name_runs(address, tmp_path, monkeypatch):
    room, _, name = address.rpartition(".")
    example = _examples(inspect.cleandoc(THINGS[address].__doc__ or ""))
    assert example, f"{address} has no section Examples"
    assert not DEEP.search(example), f"the example of {address} imports from a private module"
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "Agg")
    monkeypatch.setattr("socket.socket.connect", _no_network)
    test = doctest.DocTestParser().get_doctest(example, {"__name__": "__main__"}, address, None, 0)
    assert test.examples, f"the section Examples of {address} has no line that runs"
    assert name in example, f"{address} is not in its example"
    report: list[str] = []
    with mpl.rc_context({"backend": "Agg"}):
        doctest.DocTestRunner(verbose=False).run(test, out=report.append)
    assert not report, "".join(report)
    assert list(tmp_path.iterdir()) == [], f"the example of {address} leaves files behind"
    if room == "structsvm.plotting":
        import_module("matplotlib.pyplot").close("all")


def _examples(text: str) -> str:
    """Return the section Examples of a docstring, without what follows it."""
    lines = text.splitlines()
    underlined = [
        i for i in range(len(lines) - 1) if set(lines[i + 1]) == {"-"} and lines[i].strip()
    ]
    for start, end in pairwise([*underlined, len(lines)]):
        if lines[start] == "Examples":
            return "\n".join(lines[start + 2 : end]).rstrip() + "\n"
    return ""


def _no_network(*arguments: object) -> None:
    raise AssertionError("an example asks the network")
