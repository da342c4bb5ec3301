"""Edits of the functions folder, each followed at once by a call: none gets the code of before.

The files have the same size each time, and several edits fall within one tick of the file system's clock.
"""

import itertools
import random
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from emulator.testing import Emulator, Localyun

pytestmark = pytest.mark.sdk

PYTHON = "def handler(event, context):\n    return '{}'\n"
NODE = "exports.handler = (event, context, callback) => callback(null, '{}');\n"


@pytest.fixture(scope="module", params=["announced", "looked"])
def place(request, tmp_path_factory) -> Iterator[tuple[Localyun, Path, int]]:
    """An emulator with an empty functions folder; the second has no announcements and looks at the files."""
    root = tmp_path_factory.mktemp("edited") / "functions"
    root.mkdir()
    without = {"LOCALYUN_WITHOUT": "notifications"} if request.param == "looked" else {}
    with Emulator(functions=root, environment=without) as localyun:
        yield localyun, root, 26 if without else 100


def in_place(file: Path, text: str) -> None:
    """Write as a script does."""
    file.write_text(text)


def atomically(file: Path, text: str) -> None:
    """Write as editors do: beside it, then renamed."""
    draft = file.with_name(f".{file.name}.swp")
    draft.write_text(text)
    draft.replace(file)


def anew(file: Path, text: str) -> None:
    """Write as a checkout does: removed, then made."""
    file.unlink(missing_ok=True)
    file.write_text(text)


def whole_folder(file: Path, text: str) -> None:
    """Write as a build does: the whole folder removed, then made."""
    shutil.rmtree(file.parent)
    file.parent.mkdir()
    file.write_text(text)


SAVES = (in_place, atomically, anew, whole_folder)


def answer(localyun: Localyun, function: str) -> str:
    """Call a function and return what it says."""
    result = localyun.invoke(function)
    assert not result.error_type, result.text
    return result.text.strip('"')


def test_no_call_right_after_an_edit_is_stale(place):
    """Python and Node.js, 2.0 and 3.0, saved in every way: the call that follows runs what was written last.

    Node.js takes much longer to start: each of its ways is taken once. Without announcements there are fewer edits.
    """
    localyun, root, edits = place
    files = {
        language: [f"{language}/index.{language}", f"shop/{language}/index.{language}"] for language in ("py", "js")
    }
    for file in (*files["py"], *files["js"]):
        (root / file).parent.mkdir(parents=True)
        (root / file).write_text("")
    chosen, of_node = random.Random(25), itertools.cycle(itertools.product(files["js"], SAVES))

    stale = []
    for number in range(edits):
        file, save = (chosen.choice(files["py"]), chosen.choice(SAVES)) if number % 12 else next(of_node)
        name = str(Path(file).parent)
        save(root / file, (PYTHON if file.endswith("py") else NODE).format(f"{number:04}"))
        if (got := answer(localyun, name)) != f"{number:04}":
            stale.append((number, name, got))

    assert stale == []
