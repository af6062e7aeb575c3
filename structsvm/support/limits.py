"""Limits of what is read into memory: content of files, images, and recordings on demand."""

from structsvm.errors import parameter

BYTES = 2**28
RATIO = 100
"""A file may expand to 256 MiB, or to a hundred times its own size if that is more. Recordings
compress by less than that; files made to fill the memory by about a thousand."""
PIXELS_READ = 50_000_000  # of an image
KEPT_BYTES = 2**28  # bytes of recordings on demand that a process caches, 256 MiB
GATHERED = 2**24
"""Bytes of recordings on demand that are loaded at once for methods that need them in memory, 16
MiB: a classifier uses twenty to sixty times as much while it learns."""


class TooLarge(ValueError):
    """Raised for content beyond a limit; the caller adds the name of the file."""


def check_bytes(expanded: int, size: int, max_bytes: int | None = None) -> None:
    """Refuse content of ``expanded`` bytes from a file of ``size`` bytes."""
    limit = max(BYTES, RATIO * size) if max_bytes is None else max_bytes
    if expanded > limit:
        raise TooLarge(
            f"{amount(size)} that expand to {amount(expanded)}, at most {amount(limit)} are "
            "read: if you trust it, give " + parameter("max_bytes", expanded) + " or more"
        )


def check_pixels(height: int, width: int, max_pixels: int | None = None) -> None:
    """Refuse an image of too many pixels."""
    limit = PIXELS_READ if max_pixels is None else max_pixels
    if height * width > limit:
        raise TooLarge(
            f"{height} x {width} pixels, at most {limit:,} are read: shrink it, or give "
            + parameter("max_pixels", height * width)
            + " or more"
        )


def amount(size: int) -> str:
    """A number of bytes in words: "74.3 kB"."""
    for unit, name in ((10**9, "GB"), (10**6, "MB"), (10**3, "kB")):
        if size >= unit:
            return f"{size / unit:.3g} {name}"
    return f"{size} bytes"
