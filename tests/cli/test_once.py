"""What is read is checked once and standardised once, whatever the command.

Classifiers, which scale what they see by themselves, are left out.
"""

import pytest
from cli_kit import TEST, TRAIN

from structsvm.data import reading
from structsvm.data.samples import Standardizer


@pytest.fixture
def counted(monkeypatch):
    """Return counts of the arrays that were checked, and of those that were standardised."""
    counts = {"checked": 0, "standardised": 0}
    check, standardise = reading.check_samples, Standardizer.__call__
    standardise_all = Standardizer.of_stack

    def checked(Xs, *args, **kwargs):
        found = check(Xs, *args, **kwargs)
        counts["checked"] += len(found[0])
        return found

    def standardised(self, X):
        counts["standardised"] += 1
        return standardise(self, X)

    def standardised_together(self, Xs):
        before, found = counts["standardised"], standardise_all(self, Xs)
        counts["standardised"] = before + len(Xs)
        return found

    monkeypatch.setattr(reading, "check_samples", checked)
    monkeypatch.setattr(Standardizer, "__call__", standardised)
    monkeypatch.setattr(Standardizer, "of_stack", standardised_together)
    return counts


@pytest.mark.parametrize(
    "line",
    [
        "fit change-point train --metric diagonal -q --baselines none -o {out}",
        "fit change-point train --context moments -q --baselines none --set features.n_moments=2 "
        "-o {out}",
        "fit change-point train -q --baselines none --json --set standardize=training -o {out}",
        "predict {model} test --quiet",
        "predict {model} test --quiet -o {out}",
        "evaluate {model} test --quiet",
        "evaluate {model} test --quiet --n-clusters true --json",
        "report {model} test --quiet -o {out}.html",
        "plot {model} test/synthetic_00.npz --quiet -o {out}.png",
        "plot {model} test/synthetic_00.npz --show features --quiet -o {out}.png",
        "compare change-point train --metric diagonal --set solver.tol=0.1 --quiet",
    ],
)
def test_recordings_are_checked_and_standardised_once(run, counted, tmp_path, line):
    model = tmp_path / "m.structsvm"
    if "{model}" in line:
        fit = "fit change-point train --metric diagonal -q --baselines none -o"
        assert run(fit, model)[0] == 0
        counted.update(checked=0, standardised=0)
    code, _, err = run(line.format(out=tmp_path / "out", model=model))
    assert (code, err) == (0, "")
    n = 1 if line.startswith("plot") else len(TRAIN)
    assert len(TRAIN) == len(TEST)
    assert counted == {"checked": n, "standardised": n}
