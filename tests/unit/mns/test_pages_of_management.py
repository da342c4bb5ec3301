"""Pages of the management API: what is not on the page is not rendered."""

import pytest

from emulator.services.mns.management.codec import page


@pytest.mark.parametrize("total", [12, 1_000])
def test_only_what_a_page_shows_is_rendered(total):
    """However much there is; the numbers are of all."""
    rendered = []

    answer = page(range(total), 2, 10, lambda number: (rendered.append(number), {"n": number})[1])

    assert rendered == list(range(10, min(20, total)))
    assert answer["PageData"] == [{"n": number} for number in rendered]
    assert (answer["Total"], answer["Pages"], answer["Size"]) == (total, -(-total // 10), len(rendered))
