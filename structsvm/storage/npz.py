"""Arrays by name in one ``.npz`` file."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping
from typing import Any

import numpy as np


def npz(arrays: Mapping[str, Any], *, compressed: bool = False) -> bytes:
    """The content of an ``.npz`` file that holds these arrays and no pickle.

    ``numpy.savez`` promises no such thing: older versions take ``allow_pickle=False`` for one more
    array.
    """
    buffer = io.BytesIO()
    how = zipfile.ZIP_DEFLATED if compressed else zipfile.ZIP_STORED
    with zipfile.ZipFile(buffer, "w", how) as file:
        for name, values in arrays.items():
            with file.open(f"{name}.npy", "w", force_zip64=True) as member:
                np.lib.format.write_array(member, np.asanyarray(values), allow_pickle=False)
    return buffer.getvalue()
