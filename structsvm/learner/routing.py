"""What scikit-learn's metadata routing has to know of our learners."""

from sklearn.utils.metadata_routing import UNUSED

__all__ = ["DATA_UNDER_OUR_NAMES"]

DATA_UNDER_OUR_NAMES = {"Xs": UNUSED, "ys": UNUSED}
"""Recordings and labels are the data, which scikit-learn calls X and y, and no metadata."""
