"""How much is read into memory: of files, as their headers say, and of recordings on demand."""

from structsvm.errors import parameter

BYTES = 2**28
RATIO = 100
"""A file may expand to 256 MiB, or to a hundred times its own size where that is more. Recordings
compress by less; a file that is made to fill the memory does by a thousand."""
PIXELS_READ = 50_000_000  # of an image
KEPT_BYTES = 2**28  # a process keeps 256 MiB of the recordings that it reads when they are needed
GATHERED = 2**24
"""What needs recordings in memory at once is given 16 MiB of those that are read later: a
classifier makes twenty to sixty times that of them while it learns."""


class TooLarge(ValueError):
    """Content beyond the limit of bytes; the caller adds the name of the file."""


def check_bytes(expanded: int, size: int, max_bytes: int | None = None) -> None:
    """Refuse content of ``expanded`` bytes from a file of ``size`` bytes."""
    limit = max(BYTES, RATIO * size) if max_bytes is None else max_bytes
    if expanded > limit:
        raise TooLarge(
            f"{amount(size)} that expand to {amount(expanded)}, at most {amount(limit)} are "
            "read: if you trust it, give " + parameter("max_bytes", expanded) + " or more"
        )


def check_pixels(height: int, width: int, max_pixels: int | None = None) -> None:
    limit = PIXELS_READ if max_pixels is None else max_pixels
    if height * width > limit:
        raise TooLarge(
            f"{height} x {width} pixels, at most {limit:,} are read: shrink it, or give "
            + parameter("max_pixels", height * width)
            + " or more"
        )


def amount(size: int) -> str:
    """So many bytes in words: "74.3 kB"."""
    for unit, name in ((10**9, "GB"), (10**6, "MB"), (10**3, "kB")):
        if size >= unit:
            return f"{size / unit:.3g} {name}"
    return f"{size} bytes"
