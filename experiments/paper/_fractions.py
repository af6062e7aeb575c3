"""The loss of each method against the fraction of labels, with bands of standard errors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from structsvm.plotting.style import line_styles, new_axes, plain


def plot_label_fraction(rows: Sequence[Mapping[str, Any]], ylabel: str, ax: Any = None) -> Any:
    """Rows have ``method``, ``fraction``, ``mean`` and ``se``; one of a method: a line across."""
    ax = plain(new_axes(ax, width=6.4, height=3.8))
    for method, style in line_styles(dict.fromkeys(row["method"] for row in rows)).items():
        mine = sorted(
            (row["fraction"], row["mean"], np.nan_to_num(float(row["se"] or 0.0)))
            for row in rows
            if row["method"] == method
        )
        fractions, means, errors = np.array(mine).T
        if len(mine) == 1:
            ax.axhline(means[0], color=style["color"], linestyle=style["linestyle"], label=method)
            continue
        ax.plot(fractions, means, label=method, **style)
        band = {"color": style["color"], "alpha": 0.15, "linewidth": 0}
        ax.fill_between(fractions, means - errors, means + errors, **band)
    seen = sorted({row["fraction"] for row in rows})
    ax.set_xscale("log")
    ax.set_xticks(seen, [f"{100 * fraction:g} %" for fraction in seen])
    ax.minorticks_off()
    ax.set(xlabel="labels used", ylabel=ylabel)
    ax.legend()
    return ax
