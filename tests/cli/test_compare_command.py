"""``structsvm compare``: solvers on files."""

import numpy as np
import pytest


def test_table_on_stdout_and_a_picture(run, folder):
    code, out, _ = run(
        "compare change-point train --metric diagonal --set solver.tol=0.01 -o gaps.svg"
    )
    assert code == 0
    for name in ("cutting-plane", "cutting-plane/clarabel", "one-slack", "frank-wolfe"):
        assert name in out
    assert (folder / "gaps.svg").read_text().count("oracle calls") == 1


def test_what_does_not_suit_is_left_out_and_said(run):
    code, out, err = run(
        "compare change-point train --metric diagonal --set regularizer=trace --set solver.tol=0.1"
    )
    assert code == 0
    assert "frank-wolfe left out: " in err
    assert "frank-wolfe" not in out


def test_any_kind_of_problem_and_table(run, tmp_path, rng):
    y = np.repeat([0, 1], 20)
    X = rng.normal(size=(40, 2)) + 3 * y[:, None]
    np.savez(tmp_path / "t.npz", X=X, y=y)
    rows = [f"{a},{b},{name}" for (a, b), name in zip(X, np.array(["x", "y"])[y], strict=True)]
    (tmp_path / "t.csv").write_text("\n".join(["a,b,label", *rows]))
    table, text = tmp_path / "t.npz", tmp_path / "t.csv"
    given = [("clustering", table), ("clustering", text), ("change-point", text)]
    for kind, more in (*given, ("change-point", "train --context moments")):
        line = f"compare {kind} {more} --metric diagonal --set solver.tol=0.1 --solvers one-slack"
        code, out, err = run(line)
        assert code == 0, err
        assert "one-slack" in out


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("compare change-point train --solvers simplex", "unknown solver 'simplex'"),
        ("compare change-point train --solvers cccp", "for objectives that are not convex"),
        (
            "compare change-point train --solvers frank-wolfe --set regularizer=trace",
            "strongly convex",
        ),
        ("compare change-point train --set problem.spam=1", "has no setting 'spam'"),
        ("compare change-point train --set solver.tol=0", "tol must be > 0"),
        ("compare change-point train --lam -1", "lam must be > 0"),
        ("compare change-point train -o gaps.txt", "the name must end with one of"),
    ],
)
def test_refused(refused, line, message):
    assert message in refused(line)
