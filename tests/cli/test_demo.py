"""structsvm demo, and the commands it proposes."""

import json
import sys

from structsvm.io import read_recordings


class TestDemo:
    def test_end_to_end(self, run, tmp_path):
        folder = tmp_path / "deep" / "demo"
        code, out, err = run("demo --output", folder)
        assert code == 0
        assert "Learning pays" in out
        assert "warning" not in err
        for name in ("digits.structsvm", "digits.png", "train", "test"):
            assert str(folder / name) in err
        assert (folder / "digits.png").stat().st_size > 10_000
        # The commands it proposes work.
        commands = [c.split()[1:] for c in err.splitlines() if c.startswith("  structsvm ")]
        assert [command[0] for command in commands] == ["show", "evaluate", "predict", "fit", "try"]
        for command in commands[:3]:
            assert run(" ".join(command))[0] == 0

    def test_json_and_a_second_run(self, run, tmp_path):
        run("demo --recordings 4 --quiet --output", tmp_path)
        code, out, _ = run("demo --recordings 2 --json --quiet --force --output", tmp_path)
        assert code == 0
        report = json.loads(out)
        assert report["learned"]["loss"] < report["untrained"]["loss"]
        assert report["model"] == str(tmp_path / "digits.structsvm")
        assert len(read_recordings(tmp_path / "test")) == 2

    def test_without_matplotlib(self, run, tmp_path, monkeypatch):
        monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
        code, out, err = run("demo --recordings 2 --json --output", tmp_path)
        assert code == 0
        assert json.loads(out)["figure"] is None
        assert "warning: plotting needs matplotlib" in err
