"""What the plugin reads from the options of pytest."""

import pytest

from emulator.testing.plugin import _to_deploy


def test_file_that_is_not_there_is_refused_with_how_blanks_are_written(tmp_path):
    """Pytest splits the option at blanks, so that one path with a blank is two that are not there."""
    there = tmp_path / "s.yaml"
    there.write_text("")

    with pytest.raises(pytest.UsageError, match=r"there is no .*/my; write a path with blanks in quotes"):
        _to_deploy([there, tmp_path / "my", tmp_path / "app.yaml"])

    assert _to_deploy([there]) == [there]
