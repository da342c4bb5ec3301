"""Ids."""

import re
import threading

from emulator.kernel.ids import CountingIds, Drawn, RandomIds, SeededDraws, SystemDraws


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


def test_seeded_ids_follow_from_the_seed():
    """The same draws in the same order give the same ids; another seed or series gives others."""

    def made(seed, series=0):
        draws = SeededDraws(seed)
        draws.drawn = Drawn(series, 0)
        ids = RandomIds(draws)
        return [ids.uuid(), ids.hex(7), ids.fraction()]

    assert made(1) == made(1)
    assert len({str(each) for each in (made(1), made(2), made(1, series=1))}) == 3


def test_draws_go_on_from_where_they_are_put():
    """As after a restore."""
    draws = SeededDraws(7)
    ids = RandomIds(draws)
    ids.uuid()
    kept = draws.drawn

    first = [ids.uuid(), ids.hex(20)]
    draws.drawn = kept

    assert [ids.uuid(), ids.hex(20)] == first


def test_secrets_follow_from_no_seed():
    """Two emulators of one seed have secrets of their own."""
    assert RandomIds(SeededDraws(1)).secret(16) != RandomIds(SeededDraws(1)).secret(16)


def test_no_bytes_of_the_systems_supply_are_given_away_twice():
    """Beyond the end of a supply neither, whatever sizes are drawn, and by threads that draw at the same time."""
    draws = SystemDraws()
    drawn = []

    def draw():
        drawn.extend(draws(size) for _ in range(500) for size in (9, 16, 24))

    threads = [threading.Thread(target=draw) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert sorted({len(each) for each in drawn}) == [9, 16, 24]
    assert len({each[:9] for each in drawn}) == len(drawn) == 6000
