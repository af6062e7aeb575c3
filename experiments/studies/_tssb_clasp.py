"""ClaSP (Schaefer, Ermshaus and Leser, 2021) on TSSB: change points of every series, by claspy.

Run by ``make clasp`` in an environment of its own; tssb.py shows the result beside ours.
"""

from __future__ import annotations

import argparse
import json
import time
from functools import partial
from typing import Any

from claspy.segmentation import BinaryClaSPSegmentation

from experiments._cache import Pieces, seconds_option
from experiments._origin import origin
from experiments._report import PAPER, SHARED
from experiments.sets import fetch_tssb
from structsvm.io import Recording


def segmented(series: Recording) -> dict[str, Any]:
    """Change points with the default settings, and CPU seconds."""
    started = time.process_time()
    found = BinaryClaSPSegmentation(n_jobs=1).fit_predict(series.X[:, 0])
    return {
        "changes": [int(change) for change in found],
        "seconds": round(time.process_time() - started, 2),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", default=SHARED)
    seconds_option(parser)
    args = parser.parse_args()
    pieces = Pieces("tssb_clasp", args.seconds)
    runs = {}
    for series in sorted(fetch_tssb(data_home=args.data), key=lambda r: len(r.X)):
        runs[series.name] = pieces.get(series.name, partial(segmented, series))
    pieces.finish()
    content = {"origin": origin(), "runs": runs}
    (PAPER / "tssb_clasp.json").write_text(json.dumps(content, indent=1) + "\n")


if __name__ == "__main__":
    main()
