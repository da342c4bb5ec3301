"""Every operation of every service while another program takes the lock on the state file between its steps."""

import logging

from tests.operations.calling import Complaint, check, furnish, running
from tests.operations.locking import under_lock
from tests.operations.mutating import as_meant
from tests.operations.others import access_operations, admin_operations, object_operations

EARLIER_API = "fc_open20210406"
"""The same operations in another version: their wire form is all that differs, and it is tested elsewhere."""


async def test_no_operation_answers_an_internal_error_because_of_a_lock(recorded, tmp_path):
    """Those that write wait, at every step they take; each answers as it would have."""
    logging.getLogger("emulator").setLevel(logging.INFO)
    recorded = [each for each in recorded if each.sdk != EARLIER_API]
    complaints, waits, met = [], 0, 0

    async with running(tmp_path) as site:
        await furnish(site, recorded)
        operations = [*map(as_meant, recorded), *access_operations(site.emulator), *object_operations()]
        for each in [*operations, *admin_operations(site.emulator)]:
            try:
                answer, waited = await under_lock(site, site.call(each))
                if answer is not None:
                    check(each, answer)
            except Complaint as complaint:
                complaints.append(f"{each}: {complaint}")
                continue
            finally:  # nobody gives up, nothing fails inside
                complaints += [f"{each}: {text}" for text in site.trouble.texts]
                site.trouble.texts.clear()
            waits += waited
            met += waited > 0
            if each.method == "DELETE" or each.name.startswith("Delete"):
                await furnish(site, recorded)

    assert "\n".join(complaints) == ""
    assert met > len(operations) // 5  # or nobody has met the lock
    assert waits > met  # some wait at more than one step
