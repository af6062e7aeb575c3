"""Data frames of pandas and polars, whichever is asked for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from structsvm.support.extras import require


def data_frame(
    kind: str, values: NDArray[np.float64], names: Sequence[str], index: Any = None
) -> Any:
    """A table with named columns.

    Parameters
    ----------
    kind : {"pandas", "polars"}
    values : array of shape (n, m)
    names : sequence of m names
    index : optional
        Of a pandas frame.

    Raises
    ------
    MissingExtraError
        When the library is not installed.
    """
    if kind == "pandas":
        pandas = require("pandas", "files", "a pandas frame")
        return pandas.DataFrame(values, columns=list(names), index=index)
    polars = require("polars", "polars", "a polars frame")
    return polars.DataFrame(values, schema=list(names), orient="row")
