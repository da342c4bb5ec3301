"""What the server for assistants refuses, in which words, and what it asks before."""

import pytest

pytest.importorskip("mcp.client.client", reason="the extra mcp is missing")

from mcp.client import Client
from mcp_types import ElicitResult

from tests.unit.cli.commands.assistants import FLOW, over_stdio, refused, said


async def test_what_leads_out_of_the_project_is_refused(project):
    """Paths, links and options in the place of names; and nothing is started for that."""
    folder, _env = project
    (folder / "link.yml").symlink_to("/etc/hostname")
    async with Client(over_stdio(project, forked=False)) as client:  # whose commands leave email.py alone
        (folder / "email.py").write_text("raise SystemExit('a module of the project')\n", encoding="utf-8")
        answers = [
            await refused(client, "flow_check", file="../other.yml"),
            await refused(client, "flow_check", file="link.yml"),
            await refused(client, "deploy", file="/etc"),
            await refused(client, "export", folder="../out"),
        ]
        options = [
            await refused(client, "invoke", function="--event-file=/etc/passwd"),
            await refused(client, "flow_show", flow="--json"),
        ]
        instruction = await refused(client, "flow_check")
        (folder / "order.test.yaml").write_text("flow: order\n", encoding="utf-8")
        no_cases = await refused(client, "flow_test", file="order.test.yaml")

    assert all("outside of the project" in answer for answer in answers)
    assert all("is no name of a" in answer for answer in options)
    assert "flow_check takes a file" in instruction
    assert "a file of cases has flow and cases" in no_cases
    assert not (folder / ".localyun").exists()


@pytest.mark.timeout(300)
async def test_what_a_file_of_the_project_names_stays_in_it_too(project, tmp_path_factory):
    """Code, variables, a base, the flow of cases, a link in the place of a file, the emulator's own state."""
    folder, _env = project
    outside = tmp_path_factory.mktemp("outside")
    (outside / "secret.txt").write_text("version: v1\ntype: flow\nsteps: [{type: pass, name: a}]\n", encoding="utf-8")
    (folder / "code").mkdir()
    (folder / "code" / "index.py").write_text("", encoding="utf-8")
    function = "component: fc3, props: {functionName: f, runtime: python3.10, handler: index.handler"
    named = {
        "code": f"resources: {{f: {{{function}, code: {outside}}}}}",
        "state": f"resources: {{f: {{{function}, code: .localyun}}}}",
        "variable": f"resources: {{f: {{{function}, code: code, description: \"${{file('{outside}/secret.txt')}}\"}}}}",
        "base": f"extend: {outside}/secret.txt",
    }

    async with Client(over_stdio(project)) as client:
        await said(client, "status")
        for name, text in named.items():
            text = text if name == "base" else f"{text}}}"
            (folder / f"{name}.yaml").write_text(f"edition: 3.0.0\n{text}\n", encoding="utf-8")
        answers = [await refused(client, "deploy", file=f"{name}.yaml") for name in named]
        (folder / "template.yml").unlink()
        (folder / "template.yml").symlink_to(outside / "secret.txt")
        answers.append(await refused(client, "deploy"))
        (folder / "a.test.yaml").write_text(f"flow: {outside}/secret.txt\ncases: [{{name: a}}]\n", encoding="utf-8")
        answers.append(await refused(client, "flow_test"))
        state = await refused(client, "flow_check", file=".localyun/keys.json")
        (folder / "out").mkdir()
        (folder / "out" / "s.yaml").symlink_to(outside / "written")
        written = await refused(client, "export", folder="out")

    assert [answer for answer in answers if "is outside of" not in answer] == []
    assert "is in the folder of the emulator's state" in state
    assert "already contains s.yaml" in written
    assert [path.name for path in outside.iterdir()] == ["secret.txt"]


@pytest.mark.timeout(300)
async def test_refusals_say_what_there_is_or_what_to_do(project):
    """Names that differ, values that cannot be, arguments that no tool has; nothing is longer than 4 kB."""
    folder, _env = project
    cases = {
        "There are: orders.": ("queue_peek", {"queue": "order"}),
        "There are: first.": ("flow_show", {"flow": "order", "execution": "second"}),
        "There are: mock-1.": ("mock", {"action": "remove", "function": "shop/pay"}),
        "There are: none.": ("checkpoint", {"action": "restore", "checkpoint": "before"}),
        f"There are: {folder.name}.": ("usage", {"deployment": "other"}),
        "an id that a tool has returned": ("trace", {"id": "nothing"}),
        "deploy has no argument folder; there are: file, plan, remove, detail": ("deploy", {"folder": "x"}),
        "queue_send: body: Field required": ("queue_send", {"queue": "orders"}),
        "clock: action: Input should be 'show'": ("clock", {"action": "jump"}),
        "docs_search page=flows/testing": ("flow_test", {}),
        "mock add takes a function": ("mock", {"action": "add", "function": "shop/pay"}),
        "docs_search takes words": ("docs_search", {}),
    }

    async with Client(over_stdio(project)) as client:
        await said(client, "deploy")
        await said(client, "mock", action="add", function="shop/pay", returns=["{}"])
        await said(client, "flow_start", flow="order", execution="first")
        answers = {text: await refused(client, tool, **arguments) for text, (tool, arguments) in cases.items()}
        code = await said(client, "docs_search", query="QueueNotExist")
        page = await said(client, "docs_search", page="errors")
        outcomes = await said(client, "explore", flow="order")

    assert {text: answer for text, answer in answers.items() if text not in answer} == {}
    assert all(len(answer.encode()) < 4096 for answer in (*answers.values(), page))
    assert "mns 404: " in code
    assert "what to do: " in code
    assert "login?key=" not in outcomes  # a way into the console is the user's


@pytest.mark.timeout(300)
async def test_a_client_that_can_ask_is_asked_before_something_is_destroyed(project):
    """Who says no keeps what is there."""
    asked = []

    async def no(_context, request):
        asked.append(request.message)
        return ElicitResult(action="accept", content={"go_on": False})

    folder, _env = project
    async with Client(over_stdio(project), elicitation_callback=no) as client:
        await said(client, "deploy")
        assert asked == []
        answers = [await refused(client, "deploy", remove=True)]
        (folder / "template.yml").write_text(FLOW.replace("QueueName: orders", "QueueName: others"), encoding="utf-8")
        answers.append(await refused(client, "deploy"))
        await said(client, "checkpoint", action="save", checkpoint="before")
        answers.append(await refused(client, "checkpoint", action="restore", checkpoint="before"))
        kept = await said(client, "queue_peek", queue="orders")

    assert asked == [
        "This deletes, with what is in them: ALIYUN::FNF::Flow Order, ALIYUN::MNS::Queue Orders. Go on?",
        "This deletes, with what is in them: ALIYUN::MNS::Queue Orders. Go on?",
        "The present state is replaced by the checkpoint before. Go on?",
    ]
    assert all("nothing was changed" in answer for answer in answers)
    assert "ActiveMessages" in kept
