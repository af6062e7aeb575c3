"""Sound and moving pictures as recordings of one sample a second, on files made here."""

import subprocess
import sys

import av
import numpy as np
import pytest
from media_files import RATE, stripes, tone, write_media

from structsvm.errors import DataError, DataWarning, MissingExtraError
from structsvm.io import read_media, read_recordings
from structsvm.io.folders import find_recordings
from structsvm.io.media import PICTURE, SOUND, describe_picture, describe_sound

PEAKS = """
import sys, tracemalloc
from structsvm.io import read_media
for path in sys.argv[1:]:
    read_media(path)
    tracemalloc.start()
    read_media(path)
    print(tracemalloc.get_traced_memory()[1])
    tracemalloc.stop()
"""
"""What it takes at most to read each file once more."""


@pytest.fixture(scope="module")
def show(tmp_path_factory):
    """Return a film: a low tone and upright stripes, then a high one and red lying ones."""
    path = tmp_path_factory.mktemp("media") / "show.mkv"
    red = stripes(8, "down", colour=(1.0, 0.2, 0.2))
    return write_media(
        path,
        np.concatenate([tone(440, 5), tone(988, 4)]),
        np.concatenate([stripes(10, "across"), red]),
    )


def column(recording, name):
    return recording.X[:, recording.features.index(name)]


class TestReading:
    def test_a_second_of_sound_or_film_is_a_sample(self, show):
        found = read_media(show)
        assert found.X.shape == (9, 102)
        assert found.features == (*SOUND, *PICTURE)
        assert (found.name, found.y, found.time.name) == ("show", None, "seconds")
        assert found.time.values.tolist() == list(range(9))

    def test_a_change_in_a_film_is_at_its_second(self, show):
        found = read_media(show)
        for name in ("chroma_A", "gabor_medium_0_top_left", "hue_0"):
            values = column(found, name)
            high = values > values.mean()
            assert high[0] != high[-1], name
            assert len({*high[:5]}) == len({*high[5:]}) == 1, name

    def test_the_streams_that_a_film_has_are_read_by_default(self, tmp_path):
        silent = write_media(tmp_path / "silent.mkv", pictures=stripes(6, "down"))
        assert read_media(silent).features == PICTURE
        spoken = write_media(tmp_path / "spoken.mkv", tone(300, 2.6))
        assert read_media(spoken).features == SOUND
        assert len(read_media(spoken).X) == 3, "more than half a second is one"

    def test_streams_of_different_lengths_are_cut_with_a_warning(self, tmp_path):
        path = write_media(tmp_path / "long.mkv", tone(300, 9), stripes(8, "down"))
        with pytest.warns(DataWarning, match="9 s of audio and 4 s of video: what is beyond 4 s"):
            assert len(read_media(path).X) == 4

    def test_memory_does_not_grow_with_the_file(self, tmp_path):
        paths = [write_media(tmp_path / f"{n}.mkv", tone(300, n)) for n in (20, 200)]
        # In a process of its own: threads of a cluster that other tests began allocate as well.
        command = [sys.executable, "-c", PEAKS, *map(str, paths)]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        short, long = map(int, done.stdout.split())
        rows = 180 * len(SOUND) * 8
        assert long - short < 4 * rows < 200 * RATE

    def test_sound_and_film_are_recordings_like_others(self, show):
        (found,) = read_recordings(show, need_labels=False, stream="video", ignore=["hue_0"])
        assert found.features == tuple(name for name in PICTURE if name != "hue_0")
        (found,) = read_recordings(show.parent, need_labels=False)
        assert found.X.shape == (9, 102)


class TestErrors:
    def test_a_missing_stream_of_a_film_is_named(self, tmp_path):
        path = write_media(tmp_path / "silent.mkv", pictures=stripes(4, "down"))
        for stream in ("audio", "both"):
            with pytest.raises(DataError, match=r"silent\.mkv: it has no audio stream, only video"):
                read_media(path, stream=stream)

    def test_names_of_films_are_not_read_as_addresses(self, show, tmp_path):
        for name in ("concat:a|b.mkv", "http:there.mkv", "100%.mkv"):
            (tmp_path / name).write_bytes(show.read_bytes())
            assert read_media(tmp_path / name).X.shape == (9, 102)

    def test_files_that_are_no_films_are_refused(self, tmp_path):
        for name, content in (("empty.mkv", b""), ("junk.mp4", b"no film" * 500)):
            (tmp_path / name).write_bytes(content)
            with pytest.raises(DataError, match=f"{name}: no file of sound or pictures"):
                read_media(tmp_path / name)
        with pytest.raises(DataError, match="No such file"):
            read_media(tmp_path / "missing.mkv")
        (tmp_path / "folder.mkv").mkdir()
        with pytest.raises(DataError, match=r"folder\.mkv: no file of sound"):
            read_media(tmp_path / "folder.mkv")

    def test_a_truncated_film_is_refused(self, show, tmp_path):
        content = show.read_bytes()
        (tmp_path / "part.mkv").write_bytes(content[: len(content) // 3])
        with pytest.raises(DataError, match=r"of the 9 seconds that it says .*: it is trunc"):
            read_media(tmp_path / "part.mkv")

    def test_damaged_bytes_are_told_or_refused(self, show, tmp_path, rng):
        content = bytearray(show.read_bytes())
        for place in rng.integers(2_000, len(content), 2_000):
            content[place] = rng.integers(256)
        (tmp_path / "damaged.mkv").write_bytes(content)
        with pytest.raises((DataError, DataWarning), match=r"damaged\.mkv"):
            read_media(tmp_path / "damaged.mkv")

    def test_sound_that_is_not_finite_is_refused(self, tmp_path):
        path = tmp_path / "nan.wav"
        with av.open(str(path), "w") as container:
            stream = container.add_stream("pcm_f32le", rate=RATE)
            stream.layout = "mono"
            samples = np.full((1, 2 * RATE), np.nan, dtype=np.float32)
            frame = av.AudioFrame.from_ndarray(samples, "flt", "mono")
            frame.sample_rate = RATE
            for piece in (frame, None):
                container.mux(stream.encode(piece))
        with pytest.raises(DataError, match=r"nan\.wav: .*: sound that is not finite"):
            read_media(path)

    def test_films_are_refused_where_labels_are_needed(self, show):
        with pytest.raises(DataError, match=r"pictures hold no labels: .*with_labels"):
            read_recordings(show)

    @pytest.mark.parametrize(("module", "needed"), [("av", "av"), ("skimage.color", "skimage")])
    def test_the_missing_extra_for_media_is_named(self, show, monkeypatch, module, needed):
        monkeypatch.setitem(sys.modules, module, None)
        with pytest.raises(MissingExtraError, match=rf"needs {needed}: pip install .*\[media\]"):
            read_media(show)


class TestSound:
    @pytest.mark.parametrize(("hertz", "pitch"), [(261.6, "C"), (440, "A"), (880, "A"), (587, "D")])
    def test_the_pitch_of_a_tone_is_found(self, hertz, pitch):
        found = dict(zip(SOUND, second(hertz), strict=True))
        chroma = {name: value for name, value in found.items() if name.startswith("chroma")}
        assert max(chroma, key=chroma.get) == f"chroma_{pitch}"
        assert chroma[f"chroma_{pitch}"] == pytest.approx(1.0)

    def test_silence_has_finite_features(self):
        found = describe_sound(np.zeros(16_000, dtype=np.float32))
        assert np.isfinite(found).all()
        np.testing.assert_allclose(found[1:], 0, atol=1e-9, err_msg="neither pitch nor colour")


class TestPicture:
    @pytest.mark.parametrize(("along", "angle"), [("across", 0), ("down", 90)])
    def test_stripes_have_their_angle_and_scale(self, along, angle):
        where = np.arange(64)[None, :] if along == "across" else np.arange(64)[:, None]
        grey = np.broadcast_to(120 + 100 * np.sin(2 * np.pi * where * 0.16), (64, 64))
        found = describe_picture(np.repeat(grey[..., None], 3, 2).astype(np.uint8))
        assert PICTURE[int(found[:48].argmax())].startswith(f"gabor_medium_{angle}_")

    def test_features_of_quarters_are_those_of_their_place(self, rng):
        picture = np.full((64, 64, 3), 100, dtype=np.uint8)
        picture[34:62, 2:30] = rng.integers(0, 256, (28, 28, 1))
        found = dict(zip(PICTURE, describe_picture(picture), strict=True))
        fine = {name: value for name, value in found.items() if name.startswith("gabor_fine_0")}
        assert max(fine, key=fine.get) == "gabor_fine_0_bottom_left"

    def test_shares_of_colours_are_those_of_the_pixels(self):
        picture = np.zeros((64, 64, 3), dtype=np.uint8)
        picture[:32] = (255, 0, 0)
        found = dict(zip(PICTURE, describe_picture(picture), strict=True))
        assert found["hue_0"] == found["saturation_3"] == found["value_3"] == 0.5
        assert found["hue_4"] == 0.0
        assert found["value_0"] == 0.5


def wave(hertz, n=16_000):
    return 0.3 * np.sin(2 * np.pi * hertz * np.arange(n) / 16_000)


def second(hertz):
    return describe_sound(wave(hertz).astype(np.float32))


@pytest.mark.parametrize(
    ("name", "text", "sound"),
    [
        ("labels.csv", "recording,label,start,end\nann,a,0,1\nann,b,1,2\n", True),
        ("labels/labels.tsv", "start\tend\tlabel\n0\t1\ta\n1\t2\tb\n", True),
        ("changes.csv", "change\n1\n", True),
        ("walk.csv", "x,label\n1,a\n2,b\n", False),  # a table of samples is a recording
        ("labels.csv", "x,start,end,label\n1,0,1,a\n2,1,2,b\n", False),
    ],
)
def test_label_files_beside_sound_are_no_recordings(tmp_path, name, text, sound):
    for who in ("ann", "ben"):
        write_media(tmp_path / f"{who}.wav", tone(440, 2))
    table = tmp_path / name
    table.parent.mkdir(exist_ok=True)
    table.write_text(text)
    files, _ = find_recordings(tmp_path)
    assert sorted(files.values()) == (["ann", "ben"] if sound else [table.stem])
