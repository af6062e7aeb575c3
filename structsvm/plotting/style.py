"""Colours, marks and axes that all pictures share."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from structsvm.support.extras import require

if TYPE_CHECKING:
    from matplotlib.axes import Axes

OKABE_ITO = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#F0E442", "#000000")
"""Okabe and Ito's colours, which colour-blind readers tell apart."""

LEARNED, UNTRAINED = "#0072B2", "#D55E00"
TRACE = 0.75
"""Opacity of a trace, which has the colour of text."""

LONGEST = 40
"""Letters of a name beside a row."""

MARKERS = "osD^vPX*"
DASHES = ("-", "--", "-.", ":")


def mark_colors() -> tuple[Any, ...]:
    """Colours of curves and dots, seen on light and dark paper: grey for yellow, ink for black."""
    return (*OKABE_ITO[:6], "#8C8C8C", text_color())


def line_styles(names: Iterable[str]) -> dict[str, dict[str, Any]]:
    """A colour, a mark and a dash for each of several curves: told apart without colours, too."""
    colors = mark_colors()
    return {
        name: {
            "color": colors[i % len(colors)],
            "marker": MARKERS[i % len(MARKERS)],
            "linestyle": DASHES[i % len(DASHES)],
            "markersize": 4.5,
        }
        for i, name in enumerate(names)
    }


def new_axes(ax: Axes | None, width: float = 9.0, height: float = 4.0) -> Axes:
    """The axes given, or new ones on a figure of their own, of a size in inches."""
    if ax is not None:
        return ax
    pyplot = require("matplotlib.pyplot", "plot", "plotting")
    _, created = pyplot.subplots(figsize=(width, height), layout="constrained")
    new: Axes = created
    return new


def plain(ax: Axes) -> Axes:
    """The axes without the frame's upper and right sides."""
    ax.spines[["top", "right"]].set_visible(False)
    return ax


def text_color() -> Any:
    return require("matplotlib", "plot", "plotting").rcParams["text.color"]


def plain_text(name: Any) -> str:
    """A name as matplotlib writes it: dollars are dollars, and no formula."""
    return str(name).replace("$", r"\$")


def legend_text(name: Any) -> str:
    """A name in a legend, which leaves out those that begin with an underscore."""
    written = plain_text(name)
    return f" {written}" if written.startswith("_") else written


def shortened(names: Iterable[Any], most: int) -> list[str]:
    """Long names without their middle: what tells sensors apart is often at the end."""
    whole = [str(name) for name in names]
    short = {name: _without_middle(name, most) for name in whole}
    _tell_apart(short, most)
    return [short[name] for name in whole]


def _tell_apart(short: dict[str, str], most: int) -> None:
    """Shorten names that look alike anew, and those of them that still do once more."""
    groups: dict[str, list[str]] = {}
    for name, written in short.items():
        groups.setdefault(written, []).append(name)
    for alike in groups.values():
        if len(alike) > 1:
            start = _same_letters(min(alike), max(alike))
            told = {name: _from_letter(name, start, most) for name in alike}
            _tell_apart(told, most)
            short.update(told)


def _same_letters(name: str, other: str) -> int:
    pairs = enumerate(zip(name, other, strict=False))
    return next((i for i, (a, b) in pairs if a != b), min(len(name), len(other)))


def _without_middle(name: str, most: int) -> str:
    end = (most - 1) // 2
    return name if len(name) <= most else f"{name[: most - 1 - end]}…{name[-end:]}"


def _from_letter(name: str, start: int, most: int) -> str:
    """Its first letters, and as many of those from ``start`` on as there is room for."""
    first = most // 3
    return f"{name[:first]}…{name[start : start + most - first - 1]}"
