"""The flows of the tutorials as pictures beside their pages: ``python -m tools.drawings`` draws them again."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGES = ROOT / "docs" / "tutorials"


def pictures() -> Iterator[tuple[Path, str]]:
    """Yield the file and the content of each tutorial's picture."""
    from emulator.drawing.picture import picture

    for page in sorted(PAGES.glob("*.md")):
        definition = ROOT / "sample-apps" / page.stem / "flow.yml"
        if definition.is_file():
            yield page.with_suffix(".svg"), picture(definition.read_text(encoding="utf-8"), page.stem, None, "svg")


if __name__ == "__main__":
    for path, text in pictures():
        path.write_text(text, encoding="utf-8")
