"""The moving picture of the site's first page is what the commands print today."""

import pytest

from tests import commands
from tools import moving_picture
from tools.moving_picture import FILES, pictures


@pytest.mark.timeout(600)
def test_picture_is_what_the_commands_print(monkeypatch):
    """``python -m tools.moving_picture`` makes it again."""
    monkeypatch.setattr(moving_picture, "subprocess", commands.Forking())
    made = list(pictures())

    assert len(made) == 2 * len(FILES)
    assert [path.name for path, text in made if path.read_text(encoding="utf-8") != text] == []
