"""Write the bill of materials of an installation as CycloneDX 1.5 JSON: required distributions and vendored files.

python sbom.py FILE     needs localyun installed in the running Python; dev.py release calls it

Components are the distributions that localyun requires without extras, directly or not, and the vendored files inside
the package. Nothing in it depends on the time or on the order of the file system.
"""

from __future__ import annotations

import hashlib
import json
import re
import sys
from importlib import metadata
from pathlib import Path

from packaging.requirements import Requirement

ROOT = Path(__file__).resolve().parent.parent
VENDORED = ROOT / "emulator" / "console" / "static" / "vendor"
LICENCES = {"htmx.min.js": "0BSD", "idiomorph.min.js": "0BSD"}
"""The licences of the vendored files; each file's own text stands beside it."""


def needed(name: str = "localyun") -> dict[str, list[str]]:
    """Return the distributions required by *name* without extras, each with its own requirements."""
    found: dict[str, list[str]] = {}
    waiting = [name]
    while waiting:
        current = waiting.pop()
        if current in found:
            continue
        requirements = [Requirement(each) for each in metadata.requires(current) or []]
        direct = {
            plain(each.name) for each in requirements if each.marker is None or each.marker.evaluate({"extra": ""})
        }
        found[current] = sorted(direct)
        waiting += found[current]
    return found


def plain(requirement: str) -> str:
    """Return the normal form of the name in a requirement."""
    name = re.match(r"[A-Za-z0-9._-]+", requirement)
    assert name is not None
    return re.sub(r"[-_.]+", "-", name[0]).lower()


def licence(name: str) -> str:
    """Return the licence of a distribution: an expression, a classifier or the first line of its text."""
    about = metadata.metadata(name)
    classified = [
        each.rpartition(" :: ")[2] for each in about.get_all("Classifier") or () if each.startswith("License")
    ]
    expressions, texts = (about.get_all(each) or () for each in ("License-Expression", "License"))
    text = next(iter(expressions), "") or ", ".join(classified) or next(iter(texts), "") or "unknown"
    return str(text).strip().splitlines()[0]


def bill() -> dict[str, object]:
    """Return the whole document."""
    graph = needed()
    components = [component(name) for name in sorted(graph) if name != "localyun"]
    components += [vendored(path) for path in vendored_files()]
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {"component": {**component("localyun"), "type": "application"}},
        "components": components,
        "dependencies": [
            {"ref": reference(name), "dependsOn": [reference(each) for each in graph[name]]} for name in sorted(graph)
        ],
    }


def reference(name: str) -> str:
    """Return the package URL of an installed distribution."""
    return f"pkg:pypi/{name}@{metadata.version(name)}"


def component(name: str) -> dict[str, object]:
    """Return the CycloneDX component of a distribution."""
    return {
        "type": "library",
        "bom-ref": reference(name),
        "name": name,
        "version": metadata.version(name),
        "purl": reference(name),
        "licenses": [{"license": {"name": licence(name)}}],
    }


def vendored_files() -> list[Path]:
    """Return the vendored files inside the package."""
    return sorted(VENDORED.glob("*.js"))


def vendored(path: Path) -> dict[str, object]:
    """Return the CycloneDX component of a vendored file, with its hash."""
    return {
        "type": "file",
        "bom-ref": f"file:{path.relative_to(ROOT).as_posix()}",
        "name": path.name,
        "hashes": [{"alg": "SHA-256", "content": hashlib.sha256(path.read_bytes()).hexdigest()}],
        "licenses": [{"license": {"id": LICENCES[path.name]}}],
    }


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(json.dumps(bill(), indent=2) + "\n", encoding="utf-8")
