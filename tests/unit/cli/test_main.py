"""Putting off the cyclic garbage collector."""

import gc

import pytest

from emulator.cli.main import collection_put_off


def test_collector_rests_inside_the_block_and_works_again_after_it() -> None:
    """Blocks can be nested; only the outermost one turns the collector on again."""
    with collection_put_off():
        with collection_put_off():
            inner = gc.isenabled()
        between = gc.isenabled()

    assert (inner, between, gc.isenabled()) == (False, False, True)


def test_collector_works_again_after_a_failure() -> None:
    """An exception leaves the block like any other end does."""
    with pytest.raises(KeyError), collection_put_off():
        raise KeyError

    assert gc.isenabled()
