"""When Python looks for garbage: not while a program loads, which makes tens of thousands of objects and drops none."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def collection_put_off() -> Iterator[None]:
    """Keep the cyclic garbage collector from running inside the block; it takes a tenth of a start's time."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def keep_for_good() -> None:
    """Take all objects there are out of later collections, which then look only at what was made since.

    For a program that has finished loading and keeps what it has; inside `collection_put_off`, whose end would look at
    all of them once otherwise. Source: documentation of ``gc.freeze``.
    """
    gc.freeze()
