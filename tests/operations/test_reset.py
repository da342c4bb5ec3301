"""A reset after every operation that makes something: what is left is what an empty emulator has."""

from emulator.lab.service import KEPT
from tests.operations.calling import furnish, running
from tests.operations.mutating import as_meant
from tests.operations.others import access_operations, object_operations
from tests.operations.running import turn


async def test_every_table_is_as_in_an_empty_emulator(recorded, tmp_path):
    """What has been made is gone, nothing fails inside, and all of it can be made again."""
    async with running(tmp_path) as site:
        empty = site.dump()
        made = [each for each in recorded if turn(each)[0] == 0]
        filled = await fill(site, recorded, made)

        await site.emulator.reset({})
        left = site.dump()
        again = await fill(site, recorded, made)
        trouble = site.trouble.texts

    assert {each for each in empty if left[each] != empty[each]} <= KEPT
    assert len({each for each in empty if filled[each] != empty[each]} - KEPT) > 25  # or little was there to forget
    made_again = {each for each in empty if again[each] != empty[each]}
    assert made_again - KEPT == {each for each in empty if filled[each] != empty[each]} - KEPT
    assert trouble == []


async def fill(site, recorded, made):
    await furnish(site, recorded)
    for each in [*map(as_meant, made), *access_operations(site.emulator), *object_operations()]:
        await site.call(each)
    return site.dump()
