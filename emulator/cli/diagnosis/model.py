"""What a look at one thing has found, and what to do about it."""

from collections.abc import Iterator
from typing import Literal

from emulator.kernel.frozen import frozen

Verdict = Literal["ok", "note", "wrong"]
"""``note`` is worth knowing and may be meant so; ``wrong`` keeps something from working."""


@frozen
class Finding:
    """What was found about ``subject``, in the user's language; ``remedy`` is empty when there is nothing to do."""

    subject: str
    verdict: Verdict
    found: str
    remedy: str = ""


def ok(subject: str, found: str) -> Finding:
    """Return that all is well."""
    return Finding(subject=subject, verdict="ok", found=found)


def remark(subject: str, found: str, remedy: str) -> Finding:
    """Return something that may be meant so."""
    return Finding(subject=subject, verdict="note", found=found, remedy=remedy)


def wrong(subject: str, found: str, remedy: str) -> Finding:
    """Return something that keeps the emulator or its clients from working."""
    return Finding(subject=subject, verdict="wrong", found=found, remedy=remedy)


Findings = Iterator[Finding]
