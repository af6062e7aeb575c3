"""``structsvm diagnose``, and the findings of ``show``."""

import json


def test_a_model_alone(run):
    code, out, _ = run("diagnose m.structsvm")
    assert code == 0
    assert "few labels" in out
    assert "label more" in out


def test_a_model_and_files(run):
    code, out, _ = run("diagnose m.structsvm train --json")
    assert code == 0
    plain = json.loads(out)
    assert "few labels" in [finding["kind"] for finding in plain["findings"]]
    assert "leakage" in plain["checked"]


def test_show_has_what_the_model_tells(run):
    code, out, _ = run("show m.structsvm")
    assert code == 0
    assert "few labels" in out
    plain = json.loads(run("show m.structsvm --json")[1])
    assert plain["findings"][0]["kind"] == "few labels"


def test_a_file_without_labels_is_refused(refused, tmp_path):
    (tmp_path / "a.csv").write_text("x\n1\n2\n", encoding="utf-8")
    assert "label" in refused(f"diagnose m.structsvm {tmp_path}/a.csv")
