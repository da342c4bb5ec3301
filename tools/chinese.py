"""Chinese translations of docstrings, for the tables of operations and the reference of the test kit.

`chinese.po` has a text of a docstring in each ``msgid``. `python -m tests.catalogue` adds new ones and drops those that
are gone; a text without a translation stays English, and `tests/architecture/test_docs.py` fails.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from pathlib import Path

FILE = Path(__file__).with_name("chinese.po")

Say = Callable[[str], str]
"""Translates a text into the language of a page."""


def english(text: str) -> str:
    """Return *text* as it is."""
    return text


def chinese(text: str) -> str:
    """Return *text* in Chinese, or unchanged when there is no translation."""
    return _translations().get(text) or text


@cache
def _translations() -> dict[str, str]:
    from tests.catalogue import read  # requires the packages of the tests, which the English pages do not need

    return read(FILE)


def punctuated(text: str) -> str:
    """Return clauses, some of them Chinese, joined with Chinese punctuation."""
    if not re.search(r"[\u4e00-\u9fff]", text):
        return text
    return text.replace("; ", "\uff1b").replace(", ", "\uff0c").replace(": ", "\uff1a")
