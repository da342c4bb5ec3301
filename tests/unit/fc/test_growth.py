"""A page of a list, a deletion, a change: each costs what it touches, however much there is beside it."""

import asyncio
import json
from contextlib import AsyncExitStack
from urllib.parse import quote

import pytest

from benchmarks.big_state import copy_rows
from emulator.kernel.identity import Tenant
from emulator.services.fc import limits
from emulator.services.fc.model import LATEST, FunctionRef
from emulator.services.fc.sessions.model import working
from tests.sqlite_steps import counted_steps

_OLD, _MIDDLE, _NEW = "/2016-08-15", "/2021-04-06", "/2023-03-30"
_AFFINE = {
    "sessionAffinity": "HEADER_FIELD",
    "sessionAffinityConfig": json.dumps({"affinityHeaderFieldName": "session-id"}),
}

COPIES = {
    "fc_services": {"name": "name || n", "id": "id || n"},
    "fc_functions": {"name": "name || n", "id": "id || n"},
    "fc_aliases": {"name": "name || n", "weights": """iif(n % 2, '{"1":0.5}', weights)"""},
    "fc_tags": {"resource": "resource || n"},
    "fc_attachments": {"name": "name || n"},
    "fc_layers": {"name": "name || n"},
    "fc_layer_versions": {"name": "name || n"},
    "fc_capacity": {"function": "function || n"},
    "fc_async_configs": {"qualifier": "qualifier || n"},
    "fc_async_calls": {"seq": "seq + n", "request_id": "request_id || n", "call_key": "call_key || n"},
    "fc_sessions": {"seq": "seq + n", "session_id": "session_id || n"},
}
"""How the copies of each row differ."""


async def fill(site, pack, number):
    """Make one of each, and *number* copies of what was made."""
    calls = [
        ("POST", f"{_OLD}/services", {"serviceName": "shop"}),
        ("POST", f"{_OLD}/services/shop/functions", function(pack, "order")),
        ("POST", f"{_OLD}/tag", {"resourceArn": "services/shop", "tags": {"k": "v"}}),
        ("POST", f"{_OLD}/services/shop/bindings", {"vpcId": "vpc"}),
        ("PUT", f"{_OLD}/services/shop.LATEST/functions/order/on-demand-config", {"maximumInstanceCount": 3}),
        ("PUT", f"{_MIDDLE}/services/shop.LATEST/functions/order/async-invoke-config", {"statefulInvocation": True}),
        ("POST", f"{_NEW}/layers/layer/versions", {"code": pack(), "compatibleRuntime": ["python3.10"]}),
        ("POST", f"{_NEW}/functions", function(pack, "f", tags=[{"key": "k", "value": "v"}], **_AFFINE)),
        ("POST", f"{_NEW}/functions/f/versions", {}),
        ("POST", f"{_NEW}/functions/f/aliases", {"aliasName": "a", "versionId": "1"}),
        ("PUT", f"{_NEW}/functions/f/concurrency", {"reservedConcurrency": 5}),
        ("PUT", f"{_NEW}/functions/f/async-invoke-config", {"maxAsyncRetryAttempts": 1}),
    ]
    for method, path, body in calls:
        answer = await site.ask(method, path, body)
        assert answer.status < 300, (path, answer.content)
    task = {"x_fc_invocation_type": "Async", "x_fc_stateful_async_invocation_id": "task"}
    assert (await site.v1("POST", "/services/shop/functions/order/invocations", {}, **task)).status == 202
    await site.settle()
    lane = FunctionRef(Tenant(*site.tenant), "", "f", LATEST)
    site.fc.sessions.begin(lane, "s", site.fc.resolver.target(site.tenant, "", "f", None, 1.0))
    await site.database.committed()
    for table, changed in COPIES.items():
        copy_rows(site.database._connection, table, number, changed)
    for method, path, body in SPARE:
        answer = await site.ask(method, path, body)
        assert answer.status < 300, (path, answer.content)


def function(pack, name, **fields):
    return {"functionName": name, "runtime": "python3.10", "handler": "index.handler", "code": pack(), **fields}


SPARE = (
    ("POST", f"{_OLD}/services", {"serviceName": "spare"}),
    ("PUT", f"{_NEW}/functions/f", {"description": "second"}),
    ("POST", f"{_NEW}/functions/f/versions", {}),
    ("POST", f"{_NEW}/functions/f/aliases", {"aliasName": "spare", "versionId": "1"}),
)


def tags(value):
    return quote(json.dumps([{"Key": "k", "Value": value}]))


REQUESTS = [
    ("GET", f"{_NEW}/concurrency-configs?limit=5"),
    ("GET", f"{_OLD}/on-demand-configs?limit=5"),
    ("GET", f"{_OLD}/on-demand-configs?limit=5&prefix=services/shop.LATEST/functions/order1"),
    ("GET", f"{_MIDDLE}/stateful-async-invocation-functions?limit=5"),
    ("GET", f"{_NEW}/async-invoke-configs?limit=5"),
    ("GET", f"{_NEW}/async-invoke-configs?limit=5&functionName=f"),
    ("GET", f"{_NEW}/concurrency-configs?limit=5&functionName=f"),
    ("GET", f"{_NEW}/layers?limit=5"),
    ("GET", f"{_NEW}/functions?limit=5"),
    ("GET", f"{_NEW}/functions?limit=5&tags={tags('v')}"),
    ("GET", f"{_NEW}/functions?limit=5&tags={tags('none')}"),
    ("GET", f"{_OLD}/services?limit=5&tag_k=v"),
    ("GET", f"{_OLD}/services?limit=5&tag_k=none"),
    ("GET", f"{_MIDDLE}/tags?limit=5"),
    ("GET", f"{_NEW}/tags-v2?Limit=5&ResourceType=function&Tag={tags('v')}"),
    ("GET", f"{_NEW}/functions/f/sessions?limit=5"),
    ("GET", f"{_NEW}/functions/f/sessions?limit=5&qualifier=LATEST"),
    ("POST", f"{_OLD}/tag"),
    ("DELETE", f"{_NEW}/layers/layer/versions/1"),
    ("DELETE", f"{_NEW}/functions/f/versions/2"),
    ("DELETE", f"{_NEW}/functions/f/aliases/spare"),
    ("DELETE", f"{_NEW}/functions/f1"),
    ("DELETE", f"{_OLD}/services/shop/functions/order1"),
    ("DELETE", f"{_OLD}/services/spare"),
]
"""What is asked; the last part of a path says whether there is something that it finds."""


@pytest.mark.parametrize(("method", "path"), REQUESTS, ids=lambda text: text.replace("/", " ").strip()[:60])
async def test_a_request_costs_no_more_beside_ten_times_as_much(method, path, site_of, tmp_path, pack):
    """SQLite takes as many steps beside 300 of each as beside 30."""
    body = {"resourceArn": "services/shop", "tags": {"other": "w"}} if method == "POST" else None
    spent = []
    async with AsyncExitStack() as stack:
        for number in (30, 300):
            site = site_of(tmp_path / str(number))
            stack.callback(site.database.close)
            await site.fc.start(None)
            stack.push_async_callback(site.fc.close)
            await fill(site, pack, number)
            with counted_steps(site.database) as steps:
                answer = await site.ask(method, path, body)
            assert answer.status < 300, answer.content
            spent += steps

    assert spent[1] <= spent[0] * 1.1, spent


@pytest.mark.parametrize("target", [0, 1])
async def test_a_change_costs_no_more_beside_many_provisioned_functions(target, site_of, tmp_path, pack, monkeypatch):
    """Their configurations are read when one of them changes; a function is looked at only while there is room."""
    spent = []
    async with AsyncExitStack() as stack:
        for number in (60, 600):
            site = site_of(tmp_path / str(number))
            stack.callback(site.database.close)
            await site.fc.start(None)
            stack.push_async_callback(site.fc.close)
            await site.v3("POST", "/functions", function(pack, "f"))
            await site.v3("PUT", "/functions/f/provision-config", {"defaultTarget": target})
            for table, column in (("fc_functions", "name"), ("fc_capacity", "function")):
                changed = {column: f"{column} || n", "id": "id || n"}
                copy_rows(site.database._connection, table, number, changed)
            await site.v3("PUT", "/functions/f/provision-config", {"defaultTarget": target})
            looked, real = [], site.fc.resolver.target
            monkeypatch.setattr(
                site.fc.resolver, "target", lambda *of, real=real, to=looked: (to.append(of), real(*of))[1]
            )
            with counted_steps(site.database) as steps:
                await site.v3("PUT", "/functions/f", {"description": "other"})
            spent.append((len(looked), steps[0]))

    (few, steps), (many, more) = spent
    assert few == many == target * limits.PROVISIONED_INSTANCES
    assert more <= steps * 1.1


async def test_the_latest_sessions_are_read_without_the_others(site, pack):
    """Of one function or of all."""
    await fill(site, pack, 300)

    for name, most in (("f", 5), ("", 5)):
        with counted_steps(site.database) as steps:
            found = site.fc.session_store.latest(site.tenant, "", name, most)
        assert [each.session_id for each in found] == [f"s{number}" for number in range(300, 300 - most, -1)]
        assert steps[0] < 300


async def test_an_edit_in_the_folder_reads_what_was_edited(open_site, tmp_path):
    """SQLite takes as many steps for an edit beside 300 functions as beside 30, and nothing else is read anew."""
    spent = []
    for number in (30, 300):
        functions = tmp_path / f"{number} functions"
        for each in range(number):
            code = functions / f"f{each}" / "index.py"
            code.parent.mkdir(parents=True)
            code.write_text("def handler(event, context): return event")
        async with open_site(functions) as site:
            (functions / "f7" / "index.py").write_text("def handler(event, context): return 'edited'")
            with counted_steps(site.database) as steps:
                await site.fc.catch_up("", "f7")
            assert site.fc.store.versions_of(site.tenant, "", "f7") == [0]
            spent += steps

    assert spent[1] <= spent[0] * 1.1, spent


@pytest.mark.parametrize("again", ["reset", "resume"])
async def test_a_folder_is_taken_again_in_turns(open_site, tmp_path, again):
    """Some functions at a time; who calls one waits until all are there, and an edit is read afterwards."""
    for each in range(220):
        code = tmp_path / "functions" / f"f{each:03}" / "index.py"
        code.parent.mkdir(parents=True)
        code.write_text("def handler(event, context): return event")
    async with open_site(tmp_path / "functions") as site:
        counts, answers = [], []
        before = site.fc.store.function(site.tenant, "", "f219").code.checksum

        async def others():
            while True:
                counts.append(site.fc.store.counts()["functions"])
                if len(counts) == 2:
                    code.write_text("def handler(event, context): return 'edited'")
                    answers.append(asyncio.create_task(site.v3("POST", "/functions/f219/invocations", b"1")))
                await asyncio.sleep(0)

        if again == "resume":
            await site.fc.suspend()
            site.fc.store.clear()
        beside = asyncio.create_task(others())
        await getattr(site.fc, again)()
        beside.cancel()
        [answer] = await asyncio.gather(*answers)

        assert answer.status == 200
        assert {50, 100, 150, 200} <= set(counts)
        assert site.fc.store.counts()["functions"] == 220
        assert site.fc.store.function(site.tenant, "", "f219").code.checksum != before


async def test_sessions_under_way_are_taken_up_in_turns(site, pack):
    """Some at a time; one that ends meanwhile does not come back, and one that is used meanwhile stays as it is."""
    await fill(site, pack, 250)
    sessions, store = site.fc.sessions, site.fc.session_store
    every = store.latest(site.tenant, "", "f", 300)
    for each in every:
        sessions.enter(each)
    sessions.close()
    turns = 0

    async def others():
        nonlocal turns
        while True:
            turns += 1
            if turns == 2:  # the last ones have not had their turn
                store.delete(every[0].seq)
                sessions.enter(store.get(every[1].seq))
            await asyncio.sleep(0)

    beside = asyncio.create_task(others())
    await sessions.start()
    beside.cancel()

    assert turns == 2
    assert store.get(every[0].seq) is None
    assert store.get(every[1].seq).due_at == working(store.get(every[1].seq), site.clock.now()).due_at
    assert store.get(every[2].seq).due_at != working(store.get(every[2].seq), site.clock.now()).due_at
