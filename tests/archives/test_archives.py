"""Crafted archives: the state is whole after each, whatever was in it; `python3 -m tests.archives` runs many more."""

from tests.archives.running import run


def test_whatever_comes_in_the_state_is_whole_and_nothing_is_left(tmp_path):
    """Refused with 400, or taken in and usable; the old state comes back either way, over a start too."""
    complaints, ends = run(tmp_path / "state", 40, seed=5)

    assert complaints == []
    assert ends["import 400"] > 10
    assert ends["restore 200"] > 5
