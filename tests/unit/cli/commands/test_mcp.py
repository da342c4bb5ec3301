"""``mcp``, through the official SDK's own client: over standard input and output, and over HTTP."""

import contextlib
import json
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from emulator.cli.commands.mcp import configuration

pytest.importorskip("mcp.client.client", reason="the extra mcp is missing")

import anyio
import httpx2
from mcp.client import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError

from tests import commands
from tests.unit.cli.commands.assistants import FLOW, LOADED, SERVER, over_stdio, refused, said
from tests.waiting import until

TOOLS = {
    *(
        "status",
        "deploy",
        "export",
        "invoke",
        "logs",
        "flow_check",
        "flow_start",
        "flow_show",
        "flow_test",
        "queue_send",
    ),
    *("queue_peek", "topic_publish", "trace", "clock", "settle", "mock", "fault", "checkpoint", "explore", "usage"),
    "docs_search",
}

MENDED = (
    FLOW
    + """            catch:
              - errors: [FnF.ALL]
                goto: later
          - type: succeed
            name: paid
          - type: pass
            name: later
"""
)


async def test_tools_are_told_with_types_and_hints(project):
    """Each has a description, a schema and says whether it changes or destroys something."""
    async with Client(over_stdio(project)) as client:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        prompts = {prompt.name for prompt in (await client.list_prompts()).prompts}
        page = (await client.read_resource("docs://errors")).contents[0].text
        templates = {each.uri_template for each in (await client.list_resource_templates()).resource_templates}

    assert set(tools) == TOOLS
    assert all(tool.description and tool.annotations for tool in tools.values())
    assert {name for name, tool in tools.items() if tool.annotations.destructive_hint} == {"deploy", "checkpoint"}
    enumerated = tools["fault"].input_schema["properties"]["service"]["enum"]
    assert enumerated == ["", "fc", "fnf", "mns", "oss", "ram", "sts", "http"]
    assert tools["explore"].input_schema["properties"]["order"]["items"] == {"type": "string"}
    assert tools["explore"].input_schema["required"] == ["flow"]
    assert "consent" not in tools["deploy"].input_schema["properties"]
    assert prompts == {"why_did_it_fail", "write_a_test", "find_a_breaking_order"}
    assert page.startswith("# Error codes")
    assert templates == {
        "flow://{flow}", "execution://{flow}/{execution}", "trace://{id}", "queue://{queue}", "logs://{service}/{function}",
        "logs://{function}",
    }  # fmt: skip


CASES = """flow: order.yml
cases:
  - name: no money
    mocks: {pay: {error: CardRefused}}
    expect: {status: Succeeded, path: [pay, later]}
  - name: paid
    mocks: {pay: {return: {}}}
    expect: {status: Succeeded, path: [pay, paid]}
"""


async def test_an_assistant_deploys_fails_reads_mends_tests_and_explores(project):
    """The whole of a piece of work; each answer holds what the next call takes."""
    folder, _env = project
    async with Client(over_stdio(project)) as client:
        assert "one was started" in await said(client, "deploy")
        assert "There are: order" in await refused(client, "flow_start", flow="ordr")
        await said(client, "mock", action="add", function="shop/pay", raises="CardRefused: no money")
        started = await said(client, "flow_start", flow="order", execution="first")
        assert "next: settle, then flow_show flow=order" in started
        await said(client, "settle")
        tree = await said(client, "flow_show", flow="order", execution="first")
        assert "CardRefused" in tree
        assert "no money" in tree
        assert "pay" in await said(client, "trace", id="order/first")

        (folder / "template.yml").write_text(MENDED, encoding="utf-8")
        await said(client, "deploy")
        await said(client, "flow_start", flow="order", execution="second")
        await said(client, "settle")
        tree = await said(client, "flow_show", flow="order", execution="second")
        assert "later" in tree
        with pytest.raises(MCPError, match=r"Flow ordr does not exist\. Did you mean order\? There are: order"):
            await client.read_resource("flow://ordr")
        await said(client, "mock", action="remove")
        await said(client, "mock", action="add", step="order/pay", returns=['{"paid": 1}'])
        assert "order/pay" in await said(client, "mock", action="list")
        await said(client, "mock", action="remove")
        assert "mock-" not in await said(client, "mock", action="list")
        await said(client, "mock", action="add", called="MNS:SendMessage", returns=['{"MessageId": "1"}'])
        assert "MNS:SendMessage" in await said(client, "mock", action="list")
        await said(client, "mock", action="add", function="shop/pay", raises="CardRefused: no money")
        history = (await client.read_resource("execution://order/second")).contents[0].text
        assert "later" in history

        (folder / "order.yml").write_text(MENDED.partition("Definition: |")[2], encoding="utf-8")
        (folder / "order.test.yaml").write_text(CASES, encoding="utf-8")
        assert "2 cases, 0 failed" in await said(client, "flow_test", file="order.test.yaml")
        outcomes = await said(client, "explore", flow="order", faults=["lost-before"], deviations=1)
        assert "Succeeded" in outcomes
        assert "outcomes" in outcomes
        assert "fnf.transitions" in await said(client, "usage", execution="order/second")
        (folder / "prices.yml").write_text(
            "currency: CNY\nprices:\n  - {name: transitions, items: {fnf.transitions: 1}, price: 1}\n", encoding="utf-8"
        )
        assert "An estimate" in await said(client, "usage", prices="prices.yml", scale=1000.0)

        await said(client, "queue_send", queue="orders", body="-5 is no option")
        assert "-5 is no option" in await said(client, "queue_peek", queue="orders")
        token = json.loads((folder / ".localyun" / "keys.json").read_text(encoding="utf-8"))["adminToken"]
        assert token not in await said(client, "status", detail=True)


NAP_CODE = "import threading\ndef handler(event, context):\n    threading.Event().wait(100)\n"
NAPS = """version: v1
type: flow
steps:
  - type: task
    name: nap
    resourceArn: acs:fc:::services/shop/functions/nap
"""


async def test_long_work_reports_progress_and_ends_when_it_is_cancelled(project):
    """The server goes on with the next call."""
    folder, _env = project
    code = folder / "functions" / "shop" / "nap" / "index.py"
    code.parent.mkdir(parents=True)
    code.write_text(NAP_CODE, encoding="utf-8")
    (code.parent / "function.yml").write_text("timeout: 120\n", encoding="utf-8")
    (folder / "template.yml").write_text(FLOW.partition("        version: v1")[0] + indented(NAPS), encoding="utf-8")
    reports, reported = [], anyio.Event()

    async def progressed(progress, total, message):
        reports.append((progress, message))
        if len(reports) > 1:
            reported.set()

    async with Client(over_stdio(project)) as client:
        await said(client, "deploy")
        await said(client, "flow_start", flow="order")
        with anyio.fail_after(60):
            async with anyio.create_task_group() as group:
                scope = anyio.CancelScope()

                async def settle():
                    with scope:
                        await client.call_tool("settle", {"timeout": "90s"}, progress_callback=progressed)

                group.start_soon(settle)
                await reported.wait()
                scope.cancel()
            assert "nap" in await said(client, "flow_show", flow="order")

    assert [each for each, _ in reports] == sorted(each for each, _ in reports)
    assert reports[0][1].startswith("settle")


def indented(text):
    return "".join(f"        {line}\n" for line in text.splitlines())


def answered(project, *words):
    """Return what a command of the project's emulator prints."""
    folder, env = project
    done = commands.run([*words, "--json"], cwd=folder, env=env, timeout=60)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


async def test_cancelled_deployment_leaves_nothing(project):
    """What it had made is gone again, the call under way included; the next deployment begins anew."""
    folder, _env = project
    queues = (f"  Q{n}: {{Type: ALIYUN::MNS::Queue, Properties: {{QueueName: q{n}}}}}\n" for n in range(200))
    (folder / "template.yml").write_text(
        "ROSTemplateFormatVersion: '2015-09-01'\nResources:\n" + "".join(queues), encoding="utf-8"
    )

    def told(*words):
        return answered(project, *words)

    held = ("--service", "mns", "--operation", "CreateQueue", "--resource", "q150", "--delay", "1h")
    async with Client(over_stdio(project)) as client:
        await said(client, "status")
        told("fault", "add", *held)  # however long it takes to look, the deployment is not over
        with anyio.fail_after(100):
            async with anyio.create_task_group() as group:
                scope = anyio.CancelScope()

                async def deploy():
                    with scope:
                        await client.call_tool("deploy", {})

                group.start_soon(deploy)
                await until(lambda: told("queue", "list"), timeout_s=60)
                scope.cancel()
            await until(lambda: not told("queue", "list") and not told("deployments"), timeout_s=30)
        again = await said(client, "deploy", plan=True, detail=True)

    assert "plan: 200 to create" in again


async def test_cancelled_exploration_puts_the_state_back(project):
    """What was there before is there, nothing of its own; time goes on, and so does the server."""
    folder, _env = project
    code = folder / "functions" / "shop" / "nap" / "index.py"
    code.parent.mkdir(parents=True)
    code.write_text(NAP_CODE, encoding="utf-8")
    (code.parent / "function.yml").write_text("timeout: 120\n", encoding="utf-8")
    (folder / "template.yml").write_text(FLOW.partition("        version: v1")[0] + indented(NAPS), encoding="utf-8")

    def told(*words):
        return answered(project, *words)

    async with Client(over_stdio(project)) as client:
        await said(client, "deploy")
        await said(client, "queue_send", queue="orders", body="of before")
        with anyio.fail_after(60):
            async with anyio.create_task_group() as group:
                scope = anyio.CancelScope()

                async def explore():
                    with scope:
                        await client.call_tool("explore", {"flow": "order"})

                group.start_soon(explore)
                await until(lambda: told("flow", "list", "order"), timeout_s=60)
                scope.cancel()
            await until(lambda: not told("checkpoint", "list"), timeout_s=60)  # which it takes away last
        left = await said(client, "queue_peek", queue="orders")

    assert "of before" in left
    assert told("flow", "list", "order") == []
    assert told("clock")["frozen"] is False


TOKEN = "t" * 48


@contextlib.contextmanager
def over_http(project):
    """Yield the address of the server of a project; the admin token is `TOKEN`."""
    folder, env = project
    (folder / ".localyun").mkdir(mode=0o700)
    keys = {"accessKeyId": "a", "accessKeySecret": "b", "accountId": "1", "region": "cn-hangzhou", "adminToken": TOKEN}
    (folder / ".localyun" / "keys.json").write_text(json.dumps(keys), encoding="utf-8")
    (folder / ".localyun" / "keys.json").chmod(0o600)
    process = commands.popen_code(
        SERVER, ["mcp", "--http"], loaded=LOADED, cwd=folder, env=env, stderr=subprocess.PIPE
    )  # fmt: skip
    try:
        yield process.stderr.readline().strip()
    finally:
        process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(20)
        process.kill()
        process.stderr.close()
        process.wait()


async def test_over_http_the_token_is_needed(project):
    """Without it nothing is answered; with it the same tools are there."""
    with over_http(project) as address, anyio.fail_after(60):
        async with httpx2.AsyncClient(timeout=60) as bare:
            refusals = [
                await bare.post(address, json={}, headers=headers)
                for headers in ({}, {"Authorization": TOKEN}, {"X-Localyun-Token": f"Bearer {TOKEN}"})
            ]
            taken = await bare.post(address, json={}, headers={"X-Localyun-Token": TOKEN})
        async with (
            httpx2.AsyncClient(headers={"Authorization": f"Bearer {TOKEN}"}, timeout=60) as http,
            Client(streamable_http_client(address, http_client=http)) as client,
        ):
            names = {tool.name for tool in (await client.list_tools()).tools}
            found = await said(client, "docs_search", query="dead letters")

    assert [each.status_code for each in refusals] == [401, 401, 401]
    assert taken.status_code != 401
    assert names == TOOLS
    assert "localyun docs --page" in found


def inspected(project, *words):
    """Return what the protocol's inspector prints for a call of the server."""
    folder, env = project
    done = subprocess.run(
        ["mcp-inspector", "--cli", *words], cwd=folder, env={**env, "HOME": str(folder)}, capture_output=True,
        text=True, check=False, timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.skipif(shutil.which("mcp-inspector") is None, reason="the protocol's inspector is not on the PATH")
@pytest.mark.timeout(300)
@pytest.mark.parametrize("transport", ["stdio", "http"])
def test_inspector_of_the_protocol_lists_and_calls_the_tools(project, transport):
    """What `npm install --global @modelcontextprotocol/inspector` brings, without its pages."""
    with contextlib.ExitStack() as stack:
        if transport == "http":
            address = stack.enter_context(over_http(project))
            target = [address, "--transport", "http", "--header", f"Authorization: Bearer {TOKEN}"]
        else:
            program = project[0] / "serve"
            program.write_text(f"#!/bin/sh\nexec '{sys.executable}' -m emulator mcp\n", encoding="utf-8")
            program.chmod(0o755)  # the inspector would take -m for an option of its own
            target = [str(program)]
        tools = inspected(project, *target, "--method", "tools/list")["tools"]
        search = ("--tool-name", "docs_search", "--tool-arg", "query=dead letters")
        answer = inspected(project, *target, "--method", "tools/call", *search)

    assert {tool["name"] for tool in tools} == TOOLS
    assert "localyun docs --page" in answer["content"][0]["text"]


def test_configurations_are_documents():
    """What is printed for each editor can be read by it."""
    parts = re.split(r"^# (.*)\n", configuration("/a b/localyun"), flags=re.MULTILINE)[1:]
    files = dict(zip(parts[::2], parts[1::2], strict=True))

    read = [tomllib.loads(text) if "toml" in name else json.loads(text) for name, text in files.items()]
    assert len(read) == 4
    assert all("/a b/localyun" in json.dumps(each) for each in read)


def test_configuration_without_a_file_for_the_command_calls_python():
    """The words are apart; the settings of a user, which are of no folder, have the whole path."""
    text = configuration("bin/python3", "-m", "emulator")

    project = json.loads(text.partition("\n")[2].partition("\n\n")[0])["mcpServers"]["localyun"]
    own = tomllib.loads(text.rpartition("(Codex)\n")[2])["mcp_servers"]["localyun"]
    assert project == {"command": "bin/python3", "args": ["-m", "emulator", "mcp"]}
    assert own == {**project, "command": str(Path("bin/python3").absolute())}


@pytest.mark.parametrize("letter", ["a", "中"])
def test_answer_without_detail_is_below_four_kilobytes(letter):
    """Bytes are counted; lines stay whole where there are some, and the answer says how to get the rest."""
    running = pytest.importorskip("emulator.cli.assistant.running")
    text = "\n".join([letter * 50] * 200)

    short = running.cut(text, detail=False)

    assert len(short.encode()) < 4000
    assert short.splitlines()[-2] == letter * 50
    assert "detail=true" in short.splitlines()[-1]
    assert running.cut(text, detail=True) == text
