"""Values in words."""

import numpy as np
import pytest

from structsvm.support import two_digits


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.1234, "0.12"),
        (99.4, "99"),
        (99.6, "100"),
        (-123.4, "-123"),
        (54321.0, "54321"),
        (2e7, "2e+07"),
        (-np.inf, "-inf"),
        (np.nan, "nan"),
    ],
)
def test_large_numbers_in_sentences_have_no_exponent(value, text):
    assert two_digits(value) == text
