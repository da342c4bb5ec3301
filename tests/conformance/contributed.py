"""Recordings that were contributed: where they are, what is known of each, whether one is fit to be kept."""

import json
import re
from collections import Counter
from pathlib import Path

from emulator.cli.comparison.calls import call_of
from emulator.cli.comparison.recordings import read
from emulator.cli.comparison.redaction import Redaction
from emulator.kernel.frozen import replace

FOLDER = Path(__file__).parent / "recordings"
INDEX = FOLDER / "README.md"


def files():
    """Return the recordings by their names."""
    return sorted(FOLDER.glob("*.har"))


def known_differences(file):
    """Return the differences that stand beside a recording: operation, kind and place of each."""
    beside = file.with_suffix(".differences.json")
    return {tuple(each) for each in json.loads(beside.read_text(encoding="utf-8"))} if beside.exists() else set()


def origins(index):
    """Return where the answers of each recording are from, by the table of the index."""
    return dict(re.findall(r"^\| `([^`]+)` \| ([^|]+) \|", index, re.MULTILINE))


def described(file):
    """Return a line on a recording: requests by service, known differences, where its answers are from."""
    services = Counter(call_of(each).service for each in read(file.read_text(encoding="utf-8")))
    counts = ", ".join(f"{count} {service}" for service, count in sorted(services.items()))
    origin = origins(INDEX.read_text(encoding="utf-8")).get(file.name, "unknown")
    return f"{file.name}: requests {counts}; known differences {len(known_differences(file))}; from {origin}"


def unredacted(text):
    """Return the numbers of the requests that redaction would still change, or leave out."""
    kept = [replace(each, began="") for each in read(text)]
    clean = Redaction().redacted(kept)
    if len(clean) != len(kept):
        return [number for number, each in enumerate(kept, 1) if not call_of(each).service]
    return [number for number, (before, after) in enumerate(zip(kept, clean, strict=True), 1) if before != after]
