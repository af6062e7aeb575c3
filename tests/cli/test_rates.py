"""``fit --rates`` and ``--margins``: how often changes are right, from the command line."""

from structsvm import load


def test_rates_are_learned_saved_and_shown(run, tmp_path):
    model = tmp_path / "m.structsvm"
    code, _, err = run("fit change-point train --metric diagonal --rates -o", model)
    assert code == 0, err
    assert "held-out recordings were within 5 samples of a labelled one" in err
    assert load(model).margin_rates_.n_recordings == 4
    code, out, err = run("predict --margins", model, "test")
    assert code == 0, err
    assert "(margins " in out
    assert "(rates 0." in out
    code, _, err = run("plot --margins -o", tmp_path / "p.png", model, "test/synthetic_00.npz")
    assert code == 0, err


def test_rates_are_for_recordings(refused, tmp_path):
    said = refused("fit clustering train --rates -o", tmp_path / "m.structsvm")
    assert said == "--rates is for changes of recordings, not for clustering"
