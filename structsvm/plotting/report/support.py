"""The wrong labellings that weigh most in a metric, each next to the true one."""

from __future__ import annotations

import html
from collections.abc import Sequence

from structsvm.data.words import Words
from structsvm.learner.learner import MetricLearner
from structsvm.partitions.equivalence import KeptPartition
from structsvm.solution import SupportLabelling
from structsvm.support.plain import counted

SHOWN = 3
"""Labellings on a page."""
WIDTH, STRIP, NAMES = 640, 22, 60
"""Of a picture, of the segments of a labelling in it, and of what they are called, in pixels."""
MOST_SEGMENTS = 400
"""Segments that are drawn; of more, none would be wider than two pixels."""
MOST_CELLS = 12
"""Clusters of either labelling up to which a table shows what they share."""


def support_section(learner: MetricLearner) -> str:
    """The labellings that weigh most, as a part of a page; nothing where none is known."""
    support = learner.solution_.support or ()
    known = [found for found in support if found.labelling is not None]
    if not known:
        return ""
    traits, total = learner.problem_.traits, sum(found.multiplier for found in support)
    words, one = traits.words, "segmentation" if traits.contiguous else "partition"
    figures = [_figure(found, total, words) for found in known[:SHOWN]]
    number = counted(len(support), f"wrong {one}")
    return (
        '<section id="support" aria-labelledby="supporting">\n'
        f'<h2 id="supporting">Which {one}s define it</h2>\n'
        f"<p>Learning keeps the true {one} of each {words.whole} ahead of all others. "
        f"{number[0].upper()}{number[1:]} {'holds' if len(support) == 1 else 'hold'} the metric "
        "where it is, and every other one could be left out. Those that weigh most:</p>\n"
        + "\n".join(figures)
        + "\n</section>"
    )


def _figure(found: SupportLabelling, total: float, words: Words) -> str:
    """One labelling next to the truth, with what it weighs."""
    share = 100.0 * found.multiplier / total
    caption = (
        f"{words.whole.capitalize()} {found.sample} of those learned from, counted from 0: "
        f"{counted(found.labelling.n_clusters, words.part)} where {found.truth.n_clusters} are "
        f"true, {share:.1f} % of the weight of all (multiplier {found.multiplier:.3g}, loss "
        f"{found.loss:.3g})."
    )
    segments = found.labelling.is_contiguous and found.truth.is_contiguous
    drawn = _strips(found, caption) if segments else _table(found)
    return f"<figure>{drawn}<figcaption>{html.escape(caption)}</figcaption></figure>"


def _strips(found: SupportLabelling, caption: str) -> str:
    """The segments of the truth above those of the wrong labelling."""
    rows = (("true", found.truth, "true"), ("wrong", found.labelling, "untrained"))
    parts = [
        f'<text x="0" y="{STRIP * row + STRIP / 2:g}" dominant-baseline="middle">{name}</text>'
        + "".join(_segments(partition, STRIP * row, f"var(--{color})", name))
        for row, (name, partition, color) in enumerate(rows)
    ]
    label = html.escape(caption, quote=True)
    return (
        f'<svg width="{WIDTH}" height="{2 * STRIP}" viewBox="0 0 {WIDTH} {2 * STRIP}" role="img" '
        f'aria-label="{label}">{"".join(parts)}</svg>'
    )


def _segments(partition: KeptPartition, top: int, color: str, name: str) -> list[str]:
    """Rectangles, every other one paler, so that neighbours differ."""
    ends = partition.values.tolist()
    if len(ends) > MOST_SEGMENTS:
        return [f'<text x="{NAMES}" y="{top + STRIP / 2:g}">{len(ends)} segments</text>']
    scale, start, found = (WIDTH - NAMES) / ends[-1], 0, []
    for k, end in enumerate(ends):
        x, width = NAMES + scale * start, max(scale * (end - start), 0.5)
        found.append(
            f'<rect x="{x:.1f}" y="{top + 3}" width="{width:.1f}" height="{STRIP - 6}" '
            f'fill="{color}" opacity="{0.45 if k % 2 else 1}">'
            f"<title>{name}: samples {start} to {end - 1}</title></rect>"
        )
        start = end
    return found


def _table(found: SupportLabelling) -> str:
    if max(found.truth.n_clusters, found.labelling.n_clusters) > MOST_CELLS:
        return ""
    counts = found.truth.matrix.contingency(found.labelling.matrix).tolist()
    head = "".join(f'<th scope="col">wrong {k + 1}</th>' for k in range(len(counts[0])))
    rows = "".join(_row(k, row) for k, row in enumerate(counts))
    return f"<table><thead><tr><th></th>{head}</tr></thead><tbody>{rows}</tbody></table>"


def _row(k: int, counts: Sequence[int]) -> str:
    cells = "".join(f"<td>{n or '·'}</td>" for n in counts)
    return f'<tr><th scope="row">true {k + 1}</th>{cells}</tr>'
