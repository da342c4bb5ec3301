"""The console's texts: all looked up, all translated."""

import pytest

from tests.catalogue import CONSOLE, compiled, console_texts, read, unmarked

CATALOGUES = sorted(CONSOLE.glob("locale/*/LC_MESSAGES/console.po"))


def test_no_text_of_a_template_is_left_unmarked():
    """Every word of a page is looked up."""
    assert list(unmarked()) == []


@pytest.mark.parametrize("path", CATALOGUES, ids=lambda path: path.parts[-3])
def test_catalogue_is_complete_and_compiled(path):
    """`python -m tests.catalogue` adds new texts; each has its translation, in the compiled file too."""
    translations = read(path)

    assert set(translations) == set(console_texts())
    assert [text for text, translation in translations.items() if not translation] == []
    assert path.with_suffix(".mo").read_bytes() == compiled(translations, path.parts[-3])
