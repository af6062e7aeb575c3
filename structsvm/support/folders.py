"""The folder that this process works in, which somebody else may remove."""

from __future__ import annotations

import os

REMOVED = (
    "the folder that this program works in has been removed: change to another one, with cd before "
    "the program or os.chdir in it"
)


def works_in_removed_folder() -> bool:
    try:
        os.getcwd()
    except FileNotFoundError:
        return True
    return False
