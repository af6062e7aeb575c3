"""Recordings in which few features follow the labels."""

from benchopt import BaseDataset

from structsvm.datasets import relevant_changes
from structsvm.io import arrays_and_labels


class Dataset(BaseDataset):
    name = "simulated"
    requirements = ["pip::structsvm-partitioning"]

    parameters = {
        "n_recordings, n_samples, n_features": [(10, 600, 60), (100, 200, 20)],
        "random_state": [0],
    }
    test_parameters = {"n_recordings, n_samples, n_features": [(3, 200, 3)]}

    def get_data(self):
        recordings = relevant_changes(
            self.n_recordings,
            n_samples=self.n_samples,
            n_features=self.n_features,
            n_relevant=max(1, self.n_features // 6),
            random_state=self.random_state,
        )
        Xs, ys = arrays_and_labels(recordings)
        return {"Xs": Xs, "ys": ys}
