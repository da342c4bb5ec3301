"""Long lists in pieces: the same JSON as in one piece, with turns for others between the pages."""

import asyncio
import json

import pytest

from emulator.wire.json_list import pieces


@pytest.mark.parametrize(
    ("pages", "others"),
    [
        ([[{"a": 1}, {"b": "ü"}], [], [3]], {"problems": ["x"], "more": None}),
        ([[1]], {}),
        ([], {"problems": []}),
        ([], {}),
    ],
    ids=["pages", "no other member", "nothing", "nothing at all"],
)
async def test_the_pieces_are_one_object(pages, others):
    """The list comes last, whatever stands before it."""
    text = b"".join([piece async for piece in pieces("items", pages, others)])

    assert json.loads(text) == {**others, "items": [item for page in pages for item in page]}
    assert list(json.loads(text))[-1] == "items"


async def test_others_run_between_the_pages():
    """Each page is read in a turn of the loop of its own."""
    turns = []

    def pages():
        for number in range(3):
            asyncio.get_running_loop().call_soon(turns.append, number)
            yield [*turns]

    text = b"".join([piece async for piece in pieces("items", pages(), {})])

    assert json.loads(text) == {"items": [0, 0, 1]}
