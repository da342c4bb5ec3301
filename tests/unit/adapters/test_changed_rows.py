"""What rows are about, for pages: each table of the state has a name for its rows, or is known to have none."""

import pytest

from emulator.adapters.changed_rows import CHANGED_ROWS
from emulator.app import _SCHEMAS
from emulator.storage.database import Database
from emulator.storage.migration import migrate

UNSHOWN = {
    "schema_versions": "of the file itself",
    "mns_accounts": "settings of an account, on no page",
    "mns_deleted_queues": "what is still to be removed",
    "mns_deleted_subscriptions": "what is still to be removed",
    "mns_open_settings": "settings of an account, on no page",
    "mns_outbox": "mails and short messages, on no page",
    "mns_tallies": "of the messages, which are named",
    "workflow_worlds": "of the flows, which are named",
    "workflow_numbers": "of executions that are no more",
    "workflow_secret": "of nobody",
    "workflow_definitions": "of the flows, which are named",
    "workflow_calls": "of the turns, which are named",
    "workflow_callbacks": "of the executions, which are named",
    "workflow_restarts": "a page is loaded again after a restart",
    "fc_async_configs": "on no page",
    "fc_attachments": "on no page",
    "fc_domains": "on no page",
    "fc_layers": "on no page",
    "fc_layer_versions": "on no page",
    "fc_tags": "on no page",
    "fc_task_events": "of asynchronous calls, which are named",
    "lab_effects": "lines of the log, which are watched there",
    "oss_contents": "of the objects, which are named",
    "oss_parts": "of uploads, on no page",
    "oss_uploads": "on no page",
    "oss_settings": "on no page",
    "records": "on no page",
    "deployments": "on no page",
}
"""Tables whose rows are on no page, or are written with others that have a name, and why."""


@pytest.fixture
def database():
    opened = Database(None)
    migrate(opened, _SCHEMAS)
    yield opened
    opened.close()


def test_every_table_is_named_or_known_to_be_on_no_page(database):
    """A table that is added has to be in one of the two lists; users' identities are on the page of roles alone."""
    tables = {row[0] for row in database.read("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()}
    tables = {each for each in tables if not each.startswith(("sqlite_", "sts_"))}
    unnamed = {each for each in tables - CHANGED_ROWS.keys() if not each.startswith("ram_")}

    assert unnamed == UNSHOWN.keys() & tables
    assert CHANGED_ROWS.keys() <= tables


def test_every_name_can_be_made(database):
    """The columns are there; a watch that has ended can begin again."""
    for _ in range(2):
        told: list[str] = []
        database.watch_rows(CHANGED_ROWS, told.append)()
        assert told == []


CASES = {
    "a message is its queue's": (
        "INSERT INTO mns_messages (seq, queue, priority, visible_from, dequeue_count, revision, enqueued_at,"
        " first_dequeued_at, message_id, body_md5, body) VALUES (1, 7, 1, 1, 0, 0, 1, 0, 'm', 'x', 'tea')",
        "queue/orders",
    ),
    "a function of a service": (
        "INSERT INTO fc_triggers VALUES"
        " ('1', 'r', 'shop', 'ask', 'nightly', 'i', 'timer', '{}', '', '', '', '', '', 1, 1, 1, '')",
        "function/shop/ask",
    ),
    "a function of no service": (
        "INSERT INTO fc_triggers VALUES"
        " ('1', 'r', '', 'ask', 'nightly', 'i', 'timer', '{}', '', '', '', '', '', 1, 1, 1, '')",
        "function/ask",
    ),
    "a turn is its execution's": (
        "INSERT INTO workflow_turns (execution, first, world, at, events) VALUES (5, 1, 1, 1, '')",
        "execution/approve/first",
    ),
}


@pytest.mark.parametrize(("statement", "name"), CASES.values(), ids=CASES)
def test_names_are_those_of_the_pages(database, statement, name):
    """What a row belongs to is looked up."""
    told = []
    database.write(
        "INSERT INTO mns_queues VALUES (7, '1', 'r', 'orders', 0, 1, 1, 1, 0, 0, 0, NULL, NULL, '', '', 1, 1)"
    )
    database.write("INSERT INTO workflow_worlds VALUES (1, '1', 'r')")
    database.write(
        "INSERT INTO workflow_flows (id, world, name, uuid, description, definition, type, role_arn, storage_location,"
        " execution_mode, environment, resource_group, created_at, modified_at)"
        " VALUES (3, 1, 'approve', 'u', '', 1, 'FDL', '', '', '', '', '', 1, 1)"
    )
    database.write(
        "INSERT INTO workflow_executions (id, world, flow, name, definition, role_arn, environment, input,"
        " callback_token, started_at, status, ready) VALUES (5, 1, 3, 'first', 1, '', '', '{}', '', 1, 'Running', 0)"
    )
    database.watch_rows(CHANGED_ROWS, told.append)

    database.write(statement)

    assert told == [name]
