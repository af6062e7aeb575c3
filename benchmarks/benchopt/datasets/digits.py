"""Handwritten digits of scikit-learn, shown as recordings."""

from benchopt import BaseDataset

from structsvm.datasets import digits_recordings
from structsvm.io import arrays_and_labels


class Dataset(BaseDataset):
    name = "digits"
    requirements = ["pip::structsvm-partitioning"]

    parameters = {"n_recordings": [9]}
    test_parameters = {"n_recordings": [2]}

    def get_data(self):
        recordings = digits_recordings(self.n_recordings, split="train", random_state=0)
        Xs, ys = arrays_and_labels(recordings)
        return {"Xs": Xs, "ys": ys}
