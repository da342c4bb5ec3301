"""Fixtures for tests against localyun, beside `localyun`, which the plugin of `localyun[testing]` brings.

Copy this file into a project's tests folder.
"""

import pytest


@pytest.fixture
def queue(localyun):
    """An empty queue as the application's SDK sees it, named after the test; gone before the next one."""
    from mns.queue import QueueMeta

    made = localyun.mns.get_queue(localyun.name())
    made.create(QueueMeta())
    return made
