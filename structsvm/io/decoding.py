"""Decoding of text files: encodings, ends of lines, and numbers as other programs write them."""

import codecs
import re
from contextlib import suppress

from structsvm.errors import DataError, warn
from structsvm.support import counted, some_of

BYTE_ORDER_MARKS = {
    codecs.BOM_UTF8: "utf-8-sig",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
"""First bytes of text in some encodings."""
WIDE_ENCODINGS = ("utf-16-le", "utf-16-be")  # in which every English letter has a zero byte
ASCII_PART = 0.5  # at least this part of a rightly decoded text with zero bytes is ASCII
PADDING = re.compile(r"^\0+|\0+$", re.MULTILINE)
"""Zeros at the ends of lines, where the power was lost before they were written."""
NO_TEXT = re.compile(r"[\x00-\x08\x0e-\x19\x1b-\x1f]")  # characters that no table holds
HEAD = 2**14  # characters at the beginning by which numbers and encodings are recognised
BLANKS = dict.fromkeys((0xA0, 0x2007, 0x2009, 0x202F), " ")  # no-break and thin spaces
DASH = re.compile("(?<![^\\s,;|\"'eEdD(])[\u2010-\u2013\u2212\ufe63\uff0d](?=[.,]?\\d)")
"""A dash before a number or its exponent, which is a minus."""
FORTRAN = re.compile(r"(?<![\w.])([-+]?(?:\d+[.,]\d*|\.\d+))[dD](?=[-+]?\d{1,3}(?!\w))")
"""A number of Fortran, up to the D of its exponent."""


def decoded(content: bytes, named: str | None = None, where: object = "") -> tuple[str, str]:
    """Decode a text, with plain ends of lines and numbers; return also the encoding."""
    marks = (name for mark, name in BYTE_ORDER_MARKS.items() if content.startswith(mark))
    named = named or next(marks, None)
    wide = _wide(content) if named is None and b"\0" in content else None
    encoding = named or wide or "utf-8"
    try:
        text = content.decode(encoding)
    except UnicodeDecodeError:
        if named:
            raise DataError(f"cannot be read: it is no text in {encoding}") from None
        text, encoding = _by_lines(content, where)
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    if "\0" in text:
        text = _without_padding(text, where)
    if not text.isascii():
        text = DASH.sub("-", text.translate(BLANKS))
    if FORTRAN.search(text[:HEAD]):
        text = FORTRAN.sub(r"\1e", text)
    return text, encoding


def is_text(head: bytes) -> bool:
    """Whether the beginning of a file is text, and not binary."""
    if any(map(head.startswith, BYTE_ORDER_MARKS)) or _wide(head):
        return True
    return not NO_TEXT.search(PADDING.sub("", head.decode("latin-1")))


def _wide(content: bytes) -> str | None:
    """The encoding of text whose letters take 16 bits; None of other bytes."""
    for encoding in WIDE_ENCODINGS:
        with suppress(UnicodeDecodeError):
            text = content[: len(content) // 2 * 2].decode(encoding)
            plain = sum(map(str.isascii, text[:HEAD]))
            if "\0" not in text and plain > ASCII_PART * len(text[:HEAD]):
                return encoding
    return None


def _by_lines(content: bytes, where: object) -> tuple[str, str]:
    """Decode each line as UTF-8, and those that are not as cp1252, or latin-1."""
    lines = content.splitlines(keepends=True)
    texts = list[str]()
    not_utf_8 = list[int]()
    for k, line in enumerate(lines):
        try:
            texts.append(line.decode("utf-8"))
        except UnicodeDecodeError:
            not_utf_8.append(k)
            texts.append("")
    encoding = "cp1252"
    try:
        b"".join(lines[k] for k in not_utf_8).decode(encoding)
    except UnicodeDecodeError:  # five bytes are no letter there
        encoding = "latin-1"
    has_utf_8 = not "".join(texts).isascii()
    for k in not_utf_8:
        texts[k] = lines[k].decode(encoding)
    numbers = some_of([str(k + 1) for k in not_utf_8], 5)
    if has_utf_8:
        warn(
            f"{where}: line {numbers} is no UTF-8, as others are, and is read as {encoding}: write "
            "all lines in one encoding, if a name looks odd"
        )
        encoding = "utf-8"
    return "".join(texts), encoding


def _without_padding(text: str, where: object) -> str:
    """Leave out zero bytes at the ends of lines; refuse others."""
    plain = PADDING.sub("", text)
    if "\0" in plain:
        raise DataError("cannot be read: it is no text, or damaged: it has zero bytes within lines")
    lines = counted(sum("\0" in line for line in text.split("\n")), "line")
    warn(f"{where}: zero bytes left out in {lines}, as a log has after a loss of power")
    return plain
