"""Ids."""

import re

from emulator.kernel.ids import CountingIds, RandomIds


def test_random_uuids_are_version_4_and_differ():
    """The text form is what SDK users know: lower case, hyphens, version and variant bits set."""
    ids = RandomIds()

    made = {ids.uuid() for _ in range(100)}

    assert len(made) == 100
    assert all(
        re.fullmatch(r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}", one) for one in made
    )


def test_hex_has_the_asked_number_of_digits():
    """Odd numbers too."""
    assert [len(RandomIds().hex(digits)) for digits in (1, 7, 24)] == [1, 7, 24]


def test_counting_ids_count():
    """Tests can predict every id."""
    ids = CountingIds()

    assert [ids.hex(4), ids.uuid()[-4:], ids.secret(2)] == ["0001", "0002", b"\x00\x03"]
