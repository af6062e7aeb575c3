"""Colours, marks and axes that all pictures share, and the mark of each named state."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from structsvm.learner import Learner
from structsvm.support import require

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

OKABE_ITO = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#F0E442", "#000000")
"""Okabe and Ito's colours, which colour-blind readers tell apart."""
LEARNED, UNTRAINED = "#0072B2", "#D55E00"
AT_UNTRAINED: dict[str, Any] = {
    "color": UNTRAINED,
    "linewidth": 1.5,
    "linestyle": (0, (3, 2)),
}
"""Style of the line at the value of the untrained metric."""
LONGEST_NAME = 40  # the most letters of a name beside a row
MARKERS = "osD^vPX*"
DASHES = ("-", "--", "-.", ":")
COLORS = ("#0072B2", "#E69F00", "#009E73", "#56B4E9", "#D55E00", "#CC79A7", "#F0E442")
"""Okabe and Ito's colours without black, in an order with distinct neighbours."""
DARK = ("#0072B2",)  # colours on which white text is more legible than black
HATCHES = ("", "////", "....", "xxxx", "\\\\\\\\", "++++")
"""Matplotlib's hatches, which distinguish states of the same colour if there are many."""


def mark_colors() -> tuple[Any, ...]:
    """Colours visible on light and dark paper: grey for yellow, that of text for black."""
    return (*OKABE_ITO[:6], "#8C8C8C", text_color())


def line_styles(names: Iterable[str]) -> dict[str, dict[str, Any]]:
    """A colour, a marker and a dash for each curve, which differ without colours, too."""
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
    """The given axes, or new ones on a figure of this size in inches."""
    if ax is not None:
        return ax
    pyplot = require("matplotlib.pyplot", "plot", "plotting")
    _, created = pyplot.subplots(figsize=(width, height), layout="constrained")
    new: Axes = created
    return new


def new_figure(figure: "Figure | None", height: float) -> "Figure":
    """The given figure, or a new one of this height in inches, and 9 inches wide."""
    if figure is not None:
        return figure
    pyplot = require("matplotlib.pyplot", "plot", "plotting")
    created: Figure = pyplot.figure(figsize=(9.0, height), layout="constrained")
    return created


def plain(ax: "Axes") -> "Axes":
    """The axes, with the upper and right sides of the frame removed."""
    ax.spines[["top", "right"]].set_visible(False)
    return ax


def text_color() -> Any:
    return require("matplotlib", "plot", "plotting").rcParams["text.color"]


def plain_text(name: Any) -> str:
    """A name with dollars escaped, which matplotlib would read as a formula."""
    return str(name).replace("$", r"\$")


def legend_text(name: Any) -> str:
    """A name for a legend, from which matplotlib would drop names that begin with an underscore."""
    written = plain_text(name)
    return f" {written}" if written.startswith("_") else written


def written(names: Iterable[Any], most: int) -> list[str]:
    """Names with dollars escaped, and long ones shortened."""
    return [plain_text(name) for name in shortened(names, most)]


def shortened(names: Iterable[Any], most: int) -> list[str]:
    """Names without the middle of long ones, and with numbers if two would look the same."""
    whole = [str(name) for name in names]
    numbers = {name: k for k, name in enumerate(dict.fromkeys(whole), 1)}
    short = {name: _without_middle(name, most) for name in whole}
    if len(set(short.values())) < len(short):
        room = most - len(f"{len(numbers)}: ")
        short = {name: f"{k}: {_without_middle(name, room)}" for name, k in numbers.items()}
    return [short[name] for name in whole]


def _without_middle(name: str, most: int) -> str:
    end = (most - 1) // 2  # names of sensors often differ at the end
    return name if len(name) <= most else f"{name[: most - 1 - end]}…{name[-end:]}"


@dataclass(frozen=True)
class StateMark:
    """The look of a state."""

    color: str
    hatch: str
    ink: str  # the colour of text on it


NO_STATE = StateMark("#8C8C8C", "", "#000000")
"""The look of items without a name, and of states that the model has not learned."""


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
