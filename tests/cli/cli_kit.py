"""Recordings and images that the tests of the command line share."""

from structsvm.datasets import relevant_changes

TRAIN, TEST = (
    relevant_changes(4, n_samples=200, n_features=6, n_relevant=2, jump=2.0, random_state=s)
    for s in (0, 1)
)


def table(path, content):
    path.write_text(content, encoding="utf-8")
    return path
