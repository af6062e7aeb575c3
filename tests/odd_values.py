"""Values that no parameter expects, and what may leave a function that is given one."""

import inspect
import warnings

import numpy as np
import pytest

from structsvm.errors import StructSVMError


class Nothing:
    """Compares with nothing, has no length, is no number."""

    __hash__ = None

    def __repr__(self):
        return "Nothing()"


ODD = {
    "None": None,
    "text": "spam",
    "empty": "",
    "minus one": -1,
    "zero": 0,
    "huge": 10**30,
    "infinite": np.inf,
    "nan": np.nan,
    "half": 0.5,
    "truth": True,
    "complex": 1j,
    "list": [],
    "texts": ["a", "b"],
    "pair": (1, 2),
    "mapping": {},
    "vector": np.arange(3),
    "matrix": np.full((2, 3), np.nan),
    "object": Nothing(),
    "class": Nothing,
    "bytes": b"spam",
}


def parameters(function):
    """The names of what can be given, ``self`` apart."""
    found = inspect.signature(function).parameters.values()
    return [p.name for p in found if p.name != "self" and p.kind not in (p.VAR_KEYWORD,)]


def attempt(call, name, value, what):
    """Call it; anything but a legal error is a failure that says what led to it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return call()
        except StructSVMError:
            return None
        except (TypeError, ValueError) as error:
            if name in str(error):
                return None
            reason = error
        except Exception as error:  # what this test is about
            reason = error
    pytest.fail(f"{what}({name}={value!r}): {type(reason).__name__}: {reason}")
