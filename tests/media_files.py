"""Small files of sound and moving pictures, made by PyAV."""

import av
import numpy as np

RATE = 8_000


def tone(hertz, seconds):
    """Return a sound of one pitch, (n,) in [-1, 1]."""
    return 0.3 * np.sin(2 * np.pi * hertz * np.arange(int(seconds * RATE)) / RATE)


def stripes(n, along, colour=(1.0, 1.0, 1.0), period=8):
    """Return n pictures of stripes that move, (n, 48, 64, 3)."""
    where = np.arange(64)[None, :] if along == "across" else np.arange(48)[:, None]
    phases = np.arange(n)[:, None, None] * 0.7
    grey = 0.5 + 0.4 * np.sin(2 * np.pi * where[None] / period + phases)
    grey = np.broadcast_to(grey, (n, 48, 64))
    return (255 * grey[..., None] * np.array(colour)).astype(np.uint8)


def write_media(path, sound=None, pictures=None, fps=2):
    """Write a file with the streams that are given, sound at 8 kHz."""
    with av.open(str(path), "w") as container:
        streams = []
        if pictures is not None:
            video = container.add_stream("mpeg4", rate=fps)
            video.width = pictures.shape[2]
            video.height = pictures.shape[1]
            video.pix_fmt = "yuv420p"
            frames = [av.VideoFrame.from_ndarray(p, format="rgb24") for p in pictures]
            streams.append((video, frames))
        if sound is not None:
            audio = container.add_stream("pcm_s16le", rate=RATE)
            audio.layout = "mono"
            whole = (32767 * np.asarray(sound)).astype(np.int16)
            chunks = np.array_split(whole, -(-whole.size // 1000))
            frames = []
            begun = 0
            for chunk in chunks:
                frame = av.AudioFrame.from_ndarray(chunk[None], format="s16", layout="mono")
                frame.sample_rate, frame.pts = RATE, begun
                begun += chunk.size
                frames.append(frame)
            streams.append((audio, frames))
        for stream, frames in streams:
            for frame in [*frames, None]:
                container.mux(stream.encode(frame))
    return path


LENGTHS = {"show": (6, 9, 11, 6, 8), "new": (5, 14, 9, 10, 4, 8)}
"""Seconds of the parts of two films."""


def write_films(folder):
    """Write the films, in which tone and stripes change, and return the times of their changes."""
    rng = np.random.default_rng(0)
    changes = {}
    for name, lengths in LENGTHS.items():
        sound = np.concatenate([tone((440, 988)[i % 2], n) for i, n in enumerate(lengths)])
        pictures = [stripes(2 * n, ("across", "down")[i % 2]) for i, n in enumerate(lengths)]
        noise = rng.normal(scale=0.02, size=sound.size)
        write_media(folder / f"{name}.mkv", sound + noise, np.concatenate(pictures))
        changes[name] = np.cumsum(lengths).tolist()[:-1]
    return changes
