"""Page arithmetic."""

import pytest

from emulator.kernel.paging import cut


@pytest.mark.parametrize(
    ("rows", "limit", "items", "marker"),
    [([], 2, [], None), (["a", "b"], 2, ["a", "b"], None), (["a", "b", "c"], 2, ["a", "b"], "c")],
    ids=["empty", "exactly full", "one more"],
)
def test_the_extra_row_becomes_the_marker(rows, limit, items, marker):
    """A list read with limit + 1 tells by itself whether there is more."""
    page = cut(rows, limit, lambda row: row)

    assert list(page.items) == items
    assert page.next_marker == marker
