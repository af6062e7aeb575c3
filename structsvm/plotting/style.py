"""Colours, marks and axes that all pictures share, and the mark of each named state."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from structsvm.learner import Learner
from structsvm.support import require

if TYPE_CHECKING:
    from matplotlib.axes import Axes

OKABE_ITO = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#F0E442", "#000000")
"""Okabe and Ito's colours, which colour-blind readers tell apart."""
LEARNED, UNTRAINED = "#0072B2", "#D55E00"
AT_UNTRAINED: dict[str, Any] = {
    "color": UNTRAINED,
    "linewidth": 1.5,
    "linestyle": (0, (3, 2)),
}
"""The line at what the untrained metric has."""
LONGEST_NAME = 40  # letters of a name beside a row
MARKERS = "osD^vPX*"
DASHES = ("-", "--", "-.", ":")
COLORS = ("#0072B2", "#E69F00", "#009E73", "#56B4E9", "#D55E00", "#CC79A7", "#F0E442")
"""Okabe and Ito's colours but black, neighbours far apart in hue and in lightness."""
DARK = ("#0072B2",)  # those on which white is read better than black
HATCHES = ("", "////", "....", "xxxx", "\\\\\\\\", "++++")
"""What tells states apart once the colours are used up, as matplotlib spells it."""


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


def new_axes(ax: "Axes | None", width: float = 9.0, height: float = 4.0) -> "Axes":
    """The axes given, or new ones on a figure of their own, of a size in inches."""
    if ax is not None:
        return ax
    pyplot = require("matplotlib.pyplot", "plot", "plotting")
    _, created = pyplot.subplots(figsize=(width, height), layout="constrained")
    new: Axes = created
    return new


def plain(ax: "Axes") -> "Axes":
    """The axes without the frame's upper and right sides."""
    ax.spines[["top", "right"]].set_visible(False)
    return ax


def text_color() -> Any:
    return require("matplotlib", "plot", "plotting").rcParams["text.color"]


def plain_text(name: Any) -> str:
    """A name as matplotlib writes it: dollars are dollars, and no formula."""
    return str(name).replace("$", r"\$")


def legend_text(name: Any) -> str:
    """Text of a legend for a name; matplotlib leaves out names that begin with an underscore."""
    written = plain_text(name)
    return f" {written}" if written.startswith("_") else written


def written(names: Iterable[Any], most: int) -> list[str]:
    """Names as matplotlib writes them beside an axis, long ones shortened."""
    return [plain_text(name) for name in shortened(names, most)]


def shortened(names: Iterable[Any], most: int) -> list[str]:
    """Long names without their middle, with numbers if these would look alike."""
    whole = [str(name) for name in names]
    numbers = {name: k for k, name in enumerate(dict.fromkeys(whole), 1)}
    short = {name: _without_middle(name, most) for name in whole}
    if len(set(short.values())) < len(short):
        room = most - len(f"{len(numbers)}: ")
        short = {name: f"{k}: {_without_middle(name, room)}" for name, k in numbers.items()}
    return [short[name] for name in whole]


def _without_middle(name: str, most: int) -> str:
    end = (most - 1) // 2  # what tells sensors apart is often at the end
    return name if len(name) <= most else f"{name[: most - 1 - end]}…{name[-end:]}"


@dataclass(frozen=True)
class StateMark:
    """What a state looks like."""

    color: str
    hatch: str
    ink: str  # the colour of what is written on it


NO_STATE = StateMark("#8C8C8C", "", "#000000")
"""Of items without a name, and of states that the model has not learned."""


def state_marks(learner: Learner) -> dict[Any, StateMark]:
    """The mark of each state that a learner knows, by name; empty if it knows none."""
    own = [learner.classes_, *(getattr(r, "classes_", None) for r in learner.baselines_.values())]
    classes_ = next((classes for classes in own if classes is not None), None)
    states: Sequence[Any] = () if classes_ is None else classes_.tolist()
    marks = {}
    for k, name in enumerate(states):
        color = COLORS[k % len(COLORS)]
        hatch = HATCHES[k // len(COLORS) % len(HATCHES)]
        marks[name] = StateMark(color, hatch, "#FFFFFF" if color in DARK else "#000000")
    return marks
