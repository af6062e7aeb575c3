"""Labels from the command line that do not say everything."""

import numpy as np
import pandas as pd
import pytest

from structsvm import load
from structsvm.datasets import relevant_changes
from structsvm.io import write_recording


@pytest.fixture
def place(tmp_path):
    """Four tables, of three of which only the first half is labelled, and a recording to test."""
    made = relevant_changes(5, n_samples=200, n_features=4, n_relevant=4, random_state=1)
    (tmp_path / "learn").mkdir()
    for i, r in enumerate(made[:4]):
        lines = ["a,b,c,d,label"]
        for t, row in enumerate(r.X):
            known = i == 0 or t < 120
            lines.append(
                ",".join(f"{v:.4f}" for v in row) + f",{f'part {r.y[t]}' if known else ''}"
            )
        (tmp_path / "learn" / f"r{i}.csv").write_text("\n".join(lines) + "\n")
    write_recording(made[4], tmp_path / "test.npz")
    return tmp_path


def test_a_label_column_may_have_blanks(run, place) -> None:
    code, _, err = run(f"fit change-point {place / 'learn'} -o {place / 'm.structsvm'}")
    assert code == 0, err
    learner = load(place / "m.structsvm")
    assert len(learner.training_data_) == 4
    assert {"untrained", "pca", "rca"} <= set(learner.baselines_)
    assert "labels completed in" in err
    code, _, err = run(f"evaluate {place / 'm.structsvm'} {place / 'learn'}")
    assert code == 1
    assert "no label, row 120" in err
    code, out, err = run(f"predict {place / 'm.structsvm'} {place / 'learn'}")
    assert code == 0, err
    assert out.startswith("r0: ")


def test_regions_are_enough(run, place) -> None:
    for path in (place / "learn").glob("*.csv"):
        rows = [line.rpartition(",")[0] for line in path.read_text().splitlines()]
        path.write_text("\n".join(rows) + "\n")
    regions = place / "regions.csv"
    regions.write_text("recording,start,end,changes\nr0,0,200,1+\nr1,0,15,0\nr1,15,200,1+\n")
    line = f"fit change-point {place / 'learn'} --regions {regions} -o {place / 'm.structsvm'}"
    code, _, err = run(line)
    line += " --force"
    assert code == 0, err
    assert len(load(place / "m.structsvm").training_data_) == 2  # of the others nothing is known
    assert "2 recordings without any label left out" in err
    for text, message in (
        ("recording,start,end\nr0,0,9\n", "no column 'changes'"),
        (
            "recording start end changes\nr0 0 9 1\n",
            "no column 'recording'; it needs recording, st",
        ),
        (
            "recording,start,end,changes\nr0,0,9,1\nr0,3,7,2\n",
            "region 0..9 with 1 change",
        ),
        ("recording,start,end,changes\nr0,0,9,few\n", "line 2: a region is"),
        ("recording,start,end,changes\nr9,0,9,1\n", "no recording is called 'r9'"),
        ("recording,start,end,changes\nr0,0,900,1\n", "r0.csv: region 0..900"),
    ):
        regions.write_text(text)
        code, _, err = run(line)
        assert code == 1
        assert message in err.replace("\n", " ")


def test_labels_where_states_begin_are_named(run, tmp_path) -> None:
    """They were taken for samples among which nothing is known, and 100 segments were learned."""
    made = relevant_changes(3, n_samples=200, n_features=3, n_relevant=2, random_state=1)
    for i, r in enumerate(made):
        begins = np.diff(r.y, prepend=-1) != 0
        frame = pd.DataFrame(r.X, columns=r.features).assign(
            label=np.where(begins, [f"state {y}" for y in r.y], "")
        )
        frame.to_csv(tmp_path / f"r{i}.csv", index=False)
    line = f"fit change-point {tmp_path} --baselines none --metric diagonal -o {tmp_path / 'm'}"
    code, _, err = run(line)
    assert code == 0
    assert "every label stands alone among unlabelled samples" in err.replace("\n", " ")


def test_chunks_of_rows_that_belong_together(run, tmp_path) -> None:
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 30)
    X = rng.standard_normal((60, 3)) + 7 * y[:, None] * [1, 0, 0]
    lines = ["a,b,c,label,chunk"]
    for t, row in enumerate(X):
        label = y[t] if t in (0, 59) else ""
        chunk = f"c{y[t]}" if t % 3 == 0 else ""
        lines.append(",".join(f"{v:.4f}" for v in row) + f",{label},{chunk}")
    (tmp_path / "t.csv").write_text("\n".join(lines) + "\n")
    line = (
        f"fit clustering {tmp_path}/t.csv --set files.chunk_column=chunk -o {tmp_path}/m.structsvm"
    )
    code, _, err = run(line)
    assert code == 0, err
    learner = load(tmp_path / "m.structsvm")
    assert learner.n_features_in_ == 3
    line += " --force"
    open_number = line.replace(" -o", " --set problem.cluster_count=unknown -o")
    for label in (0, 59):
        lines[label + 1] = lines[label + 1].replace(f",{y[label]},c", ",,c")
    (tmp_path / "t.csv").write_text("\n".join(lines) + "\n")
    assert run(open_number)[0] == 0
    code, _, err = run(line)
    assert code == 1
    assert "--set problem.cluster_count=unknown" in err
    (labels,) = learner.predict([X], 2)
    assert max(np.mean(labels == y), np.mean(labels != y)) > 0.95
