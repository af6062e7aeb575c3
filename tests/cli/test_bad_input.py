"""What is wrong with files, labels and models: the file is named, and no traceback."""

import pytest
from cli_kit import TEST, table

import structsvm
from structsvm.io import write_recording


class TestBadInput:
    """What is wrong with files and labels, each with the file's name and no traceback."""

    @pytest.mark.parametrize(
        ("rows", "message"),
        [
            ("1,x,0\n2,3,1\n", "'x' is not a number, row 0 (line 2), column 'b';"),
            ("1,2,0,0\n2,3,1,1\n", "its rows have more columns than its header"),
            ("1,2,0\n2,3,1,9\n", "cannot be read: line 3 has 4 columns where 3 are expected"),
        ],
    )
    def test_a_table(self, refused, tmp_path, rows, message):
        file = table(tmp_path / "bad.csv", f"a,b,label\n{rows}")
        said = refused(f"fit change-point {file} -o {tmp_path}/m")
        assert said.startswith(f"{file}: {message}")

    def test_a_table_in_another_encoding_than_was_typed(self, refused, tmp_path):
        (tmp_path / "old.csv").write_bytes("größe,label\n1,0\n2,1\n".encode("latin-1"))
        said = refused(
            f"fit change-point {tmp_path / 'old.csv'} -o {tmp_path}/m --set files.encoding=utf-8"
        )
        assert (
            ": cannot be read: it is not in UTF-8 (byte 2 is 0xf6): name another encoding, "
            "--set files.encoding=VALUE" in said
        )

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
