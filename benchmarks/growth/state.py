"""A state folder with many of everything: one of each, made by calls, is multiplied in the tables.

Making ten thousand of everything call by call would take an hour. `COPIED` says for each table how its copies differ;
a table that is not multiplied stands in `LEFT` with the reason. No topic gets more subscriptions than a topic may have,
no account more buckets: the others are those of further topics and accounts.
"""

import shutil
import sqlite3
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

from benchmarks.big_state import copy_rows
from emulator.oss.limits import BUCKETS
from emulator.services.mns.limits import SUBSCRIPTIONS


class Copies(NamedTuple):
    """How copies differ: expressions of the copy's number ``n``. Of the rows that fit ``chosen``, or the first one."""

    changed: Mapping[str, str]
    chosen: str = ""


def _named(*columns: str) -> dict[str, str]:
    return {column: f"{column} || n" for column in columns}


def _numbered(column: str) -> dict[str, str]:
    """Return that a column goes on counting from its highest number."""
    return {column: f"{{{column}}} + n"}


_FLOW = "name = 'flow' AND deleted = 0"
_FINISHED = "id = (SELECT min(id) FROM workflow_executions WHERE status = 'Succeeded')"
COPIED: dict[str, Copies] = {
    "deployments": Copies(_named("name")),
    "fc_aliases": Copies(_named("name")),
    "fc_async_calls": Copies({**_numbered("seq"), **_named("request_id", "task_id", "call_key")}),
    "fc_async_configs": Copies(_named("qualifier")),
    "fc_attachments": Copies(_named("name")),
    "fc_capacity": Copies(_named("qualifier")),
    "fc_domains": Copies({"name": "n || name"}),
    "fc_functions": Copies(_named("name", "id"), "version = 0 AND name = 'f'"),
    "fc_layer_versions": Copies(  # of one layer, and every other time the first of another one
        {"version": "CASE WHEN n % 2 THEN version ELSE {version} + n END", "name": "iif(n % 2, name || n, name)"}
    ),
    "fc_layers": Copies(_named("name")),
    "fc_services": Copies(_named("name", "id")),
    "fc_sessions": Copies({**_numbered("seq"), **_named("session_id")}),
    "fc_tags": Copies(_named("resource")),
    "fc_triggers": Copies({**_named("name", "id"), "config": "replace(config, '\"enable\":true', '\"enable\":false')"}),
    "fc_versions": Copies(_numbered("number")),
    "lab_effects": Copies(_numbered("seq")),
    "mns_messages": Copies(_numbered("seq")),
    "mns_open_settings": Copies(_named("name")),
    "mns_outbox": Copies(_numbered("id")),
    "mns_queues": Copies({**_numbered("id"), **_named("name")}),
    "mns_topics": Copies({**_numbered("id"), **_named("name")}),
    "mns_subscriptions": Copies(
        {
            **_numbered("id"),
            **_named("name"),
            "topic": f"CASE WHEN n < {SUBSCRIPTIONS} THEN topic ELSE (SELECT max(id) FROM mns_topics)"
            f" - (SELECT max(n) FROM numbers) + n / {SUBSCRIPTIONS} END",
        }
    ),
    "oss_buckets": Copies({**_named("name"), "account": f"account + n / {BUCKETS}"}),
    "oss_objects": Copies(_named("key")),
    "oss_parts": Copies(_numbered("number")),
    "oss_uploads": Copies(_named("id")),
    "ram_access_keys": Copies(_named("key_id", "user")),
    "ram_groups": Copies(_named("name")),
    "ram_members": Copies(_named("user")),
    "ram_policies": Copies(_named("name")),
    "ram_policy_versions": Copies(_named("policy"), "policy = 'p'"),
    "ram_roles": Copies(_named("name")),
    "ram_tags": Copies(_named("name")),
    "ram_users": Copies(_named("name", "user_id")),
    "records": Copies(_named("name")),
    "sts_keys": Copies(_named("key_id")),
    "usage_amounts": Copies(_named("resource")),
    "workflow_aliases": Copies(_named("name")),
    "workflow_executions": Copies({**_numbered("id"), **_named("name"), "started_at": "started_at + n"}, _FINISHED),
    "workflow_flows": Copies({**_numbered("id"), **_named("name", "uuid")}, _FLOW),
    "workflow_schedules": Copies({**_numbered("id"), **_named("name", "uuid"), "enabled": "0"}),
    "workflow_turns": Copies(
        {"execution": "(SELECT max(id) FROM workflow_executions) - (SELECT max(n) FROM numbers) + n"},
        _FINISHED.replace("id = ", "execution = ", 1),
    ),
    "workflow_versions": Copies(
        _numbered("number"), "(flow, number) = (SELECT flow, max(number) FROM workflow_versions LIMIT 1)"
    ),
}
COUNTED = (
    "UPDATE workflow_flows SET versions_made ="
    " (SELECT ifnull(max(number), 0) FROM workflow_versions WHERE flow = workflow_flows.id)",
    "UPDATE fc_layers SET last_version ="
    " (SELECT ifnull(max(version), 0) FROM fc_layer_versions WHERE name = fc_layers.name)",
)
"""What follows from the copies: counters that go on from the highest number."""

LEFT: dict[str, str] = {
    "fc_task_events": "of single calls",
    "lab_clock": "one row",
    "mns_accounts": "one row for each account",
    "mns_deleted_queues": "what is being removed",
    "mns_deleted_subscriptions": "what is being removed",
    "mns_deliveries": "under way: see the publishing to many subscriptions",
    "mns_publications": "under way: see the publishing to many subscriptions",
    "mns_tallies": "counted at the start",
    "oss_contents": "shared by the objects",
    "oss_settings": "of single buckets",
    "ram_accounts": "other accounts",
    "ram_attachments": "bounded for each holder",
    "schema_versions": "of the program",
    "sqlite_sequence": "of SQLite",
    "workflow_callbacks": "under way: see the family of executions",
    "workflow_calls": "under way: see the distributed map",
    "workflow_definitions": "shared by the copies",
    "workflow_map_runs": "see the distributed map",
    "workflow_numbers": "one row",
    "workflow_restarts": "bounded",
    "workflow_secret": "one row",
    "workflow_wakeups": "see the parked executions",
    "workflow_worlds": "accounts and regions",
}


def multiply(state: Path, number: int) -> None:
    """Make *number* copies of one of everything in a state folder that nobody uses."""
    with closing(sqlite3.connect(state / "state.db")) as database:
        for table, copies in COPIED.items():
            columns = [row[1:6:4] for row in database.execute(f"PRAGMA table_info({table})")]
            highest = dict(zip((name for name, _ in columns), _highest(database, table, columns), strict=True))
            changed = {name: text.format_map(highest) for name, text in copies.changed.items()}
            copy_rows(database, table, number, changed, copies.chosen or _first(table, columns))
        for statement in COUNTED:
            database.execute(statement)
        database.commit()


def _highest(database: sqlite3.Connection, table: str, columns: list[tuple[str, int]]) -> list[object]:
    found = ", ".join(f"ifnull(max({name}), 0)" for name, _ in columns)
    return list(database.execute(f"SELECT {found} FROM {table}").fetchone())


def _first(table: str, columns: list[tuple[str, int]]) -> str:
    """Return the condition that one row of a table fits."""
    key = ", ".join(name for name, place in columns if place)
    return f"({key}) = (SELECT {key} FROM {table} LIMIT 1)"


def tables(state: Path) -> set[str]:
    """Return the names of the tables of a state folder."""
    with closing(sqlite3.connect(state / "state.db")) as database:
        return {row[0] for row in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}


def many(small: Path, number: int, folder: Path) -> Path:
    """Return a new folder with the state of *small*, multiplied."""
    shutil.copytree(small, folder)
    multiply(folder, number)
    return folder
