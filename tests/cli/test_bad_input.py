"""What is wrong with files, labels and models: the file is named, and no traceback."""

from pathlib import Path

import numpy as np
import pytest
from cli_kit import TEST, TRAIN, table

import structsvm
from structsvm.io import read_recording, write_recording


class TestBadInput:
    """What is wrong with files and labels, each with the file's name and no traceback."""

    @pytest.mark.parametrize(
        ("content", "message"),
        [
            ("a,b,label\n1,,0\n2,3,1\n", ": a missing value in row 0 (line 2), column 'b';"),
            ("a,b,label\n1,2,0\n2,inf,1\n", ": inf in row 1 (line 3), column 'b';"),
            ("a,b,label\n1,x,0\n2,3,1\n", ": 'x' is not a number, row 0 (line 2), column 'b';"),
            (
                "a,b,state\n1,2,0\n",
                ": no column 'label'; the columns are 'a', 'b', 'state'; name another, --label",
            ),
            ("a,label\n", ": 0 rows and 1 feature: nothing to read"),
            ("", ": the file is empty"),
            ("a,b,label\n1,2,0,0\n2,3,1,1\n", ": its rows have more columns than its header"),
            (
                "a,b,label\n1,2,0\n2,3,1,9\n",
                ": cannot be read: line 3 has 4 columns where 3 are expected",
            ),
        ],
    )
    def test_tables(self, refused, tmp_path, content, message):
        file = table(tmp_path / "bad.csv", content)
        said = refused(f"fit change-point {file} -o {tmp_path}/m")
        assert said.startswith(f"{file}{message}")

    def test_a_table_in_another_encoding_than_was_typed(self, refused, tmp_path):
        (tmp_path / "old.csv").write_bytes("größe,label\n1,0\n2,1\n".encode("latin-1"))
        said = refused(
            f"fit change-point {tmp_path / 'old.csv'} -o {tmp_path}/m --set files.encoding=utf-8"
        )
        assert (
            ": cannot be read: it is not in UTF-8 (byte 2 is 0xf6): name another encoding, "
            "--set files.encoding=VALUE" in said
        )

    def test_a_comma_at_the_end_of_each_row_shifts_nothing(self, run, tmp_path):
        file = table(tmp_path / "commas.csv", "a,b,label\n0,2,x,\n1,3,x,\n2,9,y,\n")
        recording = read_recording(file)
        assert recording.X.tolist() == [[0, 2], [1, 3], [2, 9]]
        assert list(recording.y) == ["x", "x", "y"]
        assert run(f"fit change-point {file} -o {tmp_path}/m.structsvm")[0] == 0
        assert run(f"predict {tmp_path}/m.structsvm {file} -o {tmp_path}/out")[0] == 0
        written = (tmp_path / "out" / "commas_segments.csv").read_text().splitlines()
        assert written[1] == "0,2,x,0"

    @pytest.mark.parametrize(
        ("content", "message"),
        [
            ("a,label\n1,0\n2,0\n3,0\n", "the recording has no change (T is 3): label at"),
            ("a,label\n1,0\n", "the recording has no change (T is 1): label at"),
            ("a,label\n1,0\n1,0\n1,1\n1,1\n", "every feature is constant in every recording"),
        ],
    )
    def test_nothing_to_learn_from(self, refused, tmp_path, content, message):
        file = table(tmp_path / "bad.csv", content)
        assert message in refused(f"fit change-point {file} -o {tmp_path}/m")

    def test_recordings_with_other_features(self, refused, tmp_path):
        one = table(tmp_path / "one.csv", "a,b,label\n1,2,0\n2,2,1\n")
        two = table(tmp_path / "two.csv", "a,c,label\n1,2,0\n2,2,1\n")
        assert refused("fit change-point", one, two, "-o", tmp_path / "m") == (
            f"{two} has other features than {one}: lacks 'b' and has 'c' besides"
        )

    @pytest.mark.parametrize("bkps", [[50, 20, 200], [50, 300], [50]])
    def test_breakpoints(self, refused, tmp_path, bkps):
        np.savez(tmp_path / "bad.npz", X=TRAIN[0].X, bkps=bkps)
        said = refused(f"fit change-point {tmp_path} -o {tmp_path}/m")
        assert said.startswith(f"{tmp_path / 'bad.npz'}: bkps must increase and end with 200")

    def test_labels_of_another_length(self, refused, tmp_path):
        np.savez(tmp_path / "bad.npz", X=TRAIN[0].X, y=TRAIN[0].y[:-1])
        said = refused(f"fit change-point {tmp_path} -o {tmp_path}/m")
        assert said == f"{tmp_path / 'bad.npz'}: y has shape (199,), X has 200 rows"

    def test_what_a_problem_refuses_names_the_file(self, refused, tmp_path, monkeypatch):
        def refuse(self, y, n_samples):
            raise structsvm.errors.DataError("no such labels")

        monkeypatch.setattr(structsvm.ChangePoint, "encode", refuse)
        said = refused(f"fit change-point train -o {tmp_path}/m")
        assert said == "train/synthetic_00.npz: no such labels"

    def test_paths(self, refused, tmp_path):
        assert refused(f"fit change-point {tmp_path} -o m") == (
            f"{tmp_path}: no .npz, .parquet, .csv, .tsv, .tab, .txt, .xlsx files in this folder"
        )
        assert refused("predict m.structsvm gone.csv") == "gone.csv: no such file or folder"
        assert refused("predict m.structsvm m.structsvm").startswith(
            "m.structsvm: not a kind of file that is read"
        )

    def test_skipped_files_are_named(self, run, tmp_path):
        write_recording(TEST[0], tmp_path / "one.npz")
        table(tmp_path / "index.csv", "file\none\n")
        _, _, err = run("predict m.structsvm", tmp_path)
        assert "skipped: index.csv" in err

    @pytest.mark.parametrize("command", ["show", "predict", "evaluate", "plot"])
    def test_models(self, refused, tmp_path, command):
        more = {"show": "", "plot": f"-o {tmp_path}/f.png"}.get(command, "test")
        said = refused(f"{command} gone.structsvm {more}")
        assert said == "gone.structsvm: cannot be read: No such file or directory"
        whole = Path("m.structsvm").read_bytes()
        (tmp_path / "half").write_bytes(whole[: len(whole) // 2])
        said = refused(f"{command} {tmp_path}/half {more}")
        assert said == f"{tmp_path}/half: damaged, or not a structsvm model"
