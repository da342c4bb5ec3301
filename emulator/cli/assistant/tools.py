"""The tools: one for each task, typed, with short answers that name the arguments of the next tool.

Each runs a command of the command line and has no logic of its own.
"""

import json
from collections.abc import Callable
from typing import Annotated, Any, Final, Literal

from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import ToolError
from mcp.server.mcpserver.resolve import Elicit, Resolve
from mcp.server.mcpserver.tools import Tool
from mcp_types import ToolAnnotations
from pydantic import BaseModel, Field

from emulator.cli.assistant import schemas
from emulator.cli.assistant.advice import explained
from emulator.cli.assistant.running import Project, cut, name
from emulator.cli.assistant.task import Task

READS: Final = ToolAnnotations(read_only_hint=True, open_world_hint=False)
CHANGES: Final = ToolAnnotations(read_only_hint=False, destructive_hint=False, open_world_hint=False)
DESTROYS: Final = ToolAnnotations(read_only_hint=False, destructive_hint=True, open_world_hint=False)

Detail = Annotated[bool, Field(description="everything, not only the first 4 kB")]
Flow = Annotated[str, Field(description="name of the flow")]
Execution = Annotated[str, Field(description="name of the execution; the one started last when empty")]
Json = Annotated[str, Field(description="a JSON document")]
File = Annotated[str, Field(description="path of a file of the project")]


_MOST_NAMED: Final = 12
"""The most resources named in a question."""


class Consent(BaseModel):
    """The question to the user before something is deleted."""

    go_on: bool = Field(description="Go on?")


def _consent(context: Context, loss: str) -> Consent | Elicit[Consent]:
    """Ask the user before a loss, if the client can ask; for other clients the tool's hint has to do."""
    return Elicit(f"{loss} Go on?", Consent) if loss and _can_ask(context) else Consent(go_on=True)


def _can_ask(context: Context) -> bool:
    capabilities = context.client_capabilities
    return capabilities is not None and capabilities.elicitation is not None


async def _loss_by(project: Project, file: str, *, remove: bool) -> str:
    """Return a sentence about what a deployment would delete; "" for nothing, and when it cannot be planned."""
    options = ["--remove"] if remove else []
    try:
        planned = await project.ask("deploy", project.file(file or "."), *project.within, *options, "--plan", "--json",
                                    detail=True)  # fmt: skip
        steps = json.loads(planned[planned.index("{") :])["plan"]
    except (ToolError, ValueError):  # deploying reports the same error
        return ""
    gone = [f"{each['type']} {each['logicalName']}" for each in steps if each["action"] in {"delete", "replace"}]
    more = f" and {len(gone) - _MOST_NAMED} more" if len(gone) > _MOST_NAMED else ""
    return f"This deletes, with what is in them: {', '.join(gone[:_MOST_NAMED])}{more}." if gone else ""


def _of_checkpoint(context: Context, action: str, checkpoint: str) -> Consent | Elicit[Consent]:
    losses = {"restore": f"The present state is replaced by the checkpoint {checkpoint}.",
              "delete": f"The checkpoint {checkpoint} is forgotten."}  # fmt: skip
    return _consent(context, losses.get(action, ""))


def _agreed(consent: Consent) -> None:
    """Check the user's answer.

    Raises: ToolError when it is no.
    """
    if not consent.go_on:
        raise ToolError("The user does not want this; nothing was changed.")


def tools(project: Project) -> list[Tool]:
    """Return all tools."""
    made: list[Tool] = []

    def add(function: Callable[..., Any], hints: ToolAnnotations) -> None:
        made.append(Task.from_function(function, annotations=hints, structured_output=False))

    for group in (_add_project_tools, _add_flow_tools, _add_message_tools, _add_lab_tools, _add_trial_tools):
        group(add, project)
    return made


Add = Callable[[Callable[..., Any], ToolAnnotations], None]


def _add_project_tools(add: Add, project: Project) -> None:
    async def status(detail: Detail = False) -> str:
        """What runs: address, account, region, functions, numbers of flows, queues and topics."""
        return await project.ask("status", "--json", detail=detail)

    async def of_deploy(context: Context, file: str, plan: bool, remove: bool) -> Consent | Elicit[Consent]:
        return _consent(context, "" if plan or not _can_ask(context) else await _loss_by(project, file, remove=remove))

    async def deploy(
        context: Context,
        consent: Annotated[Consent, Resolve(of_deploy)],
        file: File = "",
        plan: Annotated[bool, Field(description="only print the planned changes")] = False,
        remove: Annotated[bool, Field(description="delete what the deployment created")] = False,
        detail: Detail = False,
    ) -> str:
        """Make what a template.yml or an s.yaml of the project describes; commands in an s.yaml are not run."""
        _agreed(consent)
        options = [*(["--plan"] if plan else []), *(["--remove"] if remove else []), "--yes"]
        words = ("deploy", project.file(file or "."), *project.within, *options)
        return await project.ask(*words, context=context, detail=detail)

    async def export(
        folder: Annotated[str, Field(description="a folder of the project to write into")],
        form: Literal["s.yaml", "template.yml", "terraform"] = "s.yaml",
        detail: Detail = False,
    ) -> str:
        """Write what runs as files that the cloud's tools deploy; into a folder that has no earlier export."""
        if not folder:
            raise ToolError("export takes a folder of the project, a new one for instance")
        words = ("export", f"--format={form}", f"--output={project.file(folder)}")
        return await project.ask(*words, detail=detail, notes=True)

    async def invoke(
        function: Annotated[str, Field(description="[SERVICE/]FUNCTION[.QUALIFIER], as status lists it")],
        event: str = "",
        detail: Detail = False,
    ) -> str:
        """Call a function; answers its result, its log and, when it failed, the type of its error."""
        words = ("invoke", name(function, "function"), "--event-file=-", "--log", "--json")
        return await project.ask(*words, stdin=event, detail=detail)

    async def logs(
        function: Annotated[str, Field(description="SERVICE/FUNCTION; all when empty")] = "",
        request: Annotated[str, Field(description="instead: all that came of this request id")] = "",
        lines: Annotated[int, Field(ge=1, le=1000)] = 50,
        detail: Detail = False,
    ) -> str:
        """What functions have printed, or everything recent that came of one request."""
        options = (
            [f"--request={request}"] if request else [f"--lines={lines}", *filter(None, [name(function, "function")])]
        )
        return await project.ask("logs", *options, detail=detail) or "Nothing was logged."

    async def docs_search(
        query: Annotated[str, Field(description="words, in English or Chinese; or an error code")] = "",
        page: Annotated[str, Field(description="instead: print this page")] = "",
        detail: Detail = False,
    ) -> str:
        """Search the documentation of the emulator, or print a page of it."""
        if not query and not page:
            raise ToolError("docs_search takes words to look for, an error code, or a page")
        if not page and (found := explained(query)):
            return found
        words = [f"--page={page}"] if page else [name(query, "page")]
        return cut(await project.local("docs", *words), detail=detail)

    for function, hints in ((status, READS), (deploy, DESTROYS), (export, CHANGES), (invoke, CHANGES), (logs, READS),
                            (docs_search, READS)):  # fmt: skip
        add(function, hints)


def _add_flow_tools(add: Add, project: Project) -> None:
    async def flow_check(
        file: File = "",
        definition: Annotated[str, Field(description="instead of a file")] = "",
        detail: Detail = False,
    ) -> str:
        """Check the definition of a flow without running it; says line, column and what is expected there."""
        if not file and not definition:
            raise ToolError("flow_check takes a file of the project, or the text of a definition")
        said = await project.local("flow", "check", project.file(file) if file else "-", stdin=definition)
        return cut(said, detail=detail)

    async def flow_start(flow: Flow, input: Json = "{}", execution: str = "", detail: Detail = False) -> str:
        """Start an execution of a flow that was deployed; an express flow is answered at its end."""
        options = [f"--input={input}", *([f"--name={execution}"] if execution else [])]
        answer = await project.ask("flow", "start", name(flow, "flow"), *options, detail=detail)
        return f"{answer}\nnext: settle, then flow_show flow={flow}"

    async def flow_show(flow: Flow, execution: Execution = "", detail: Detail = False) -> str:
        """An execution as the tree of its steps: data, errors with causes, retries, where it stands."""
        words = ("flow", "history", name(flow, "flow"), *filter(None, [name(execution, "execution")]))
        return await project.ask(*words, detail=detail)

    for function, hints in ((flow_check, READS), (flow_start, CHANGES), (flow_show, READS)):
        add(function, hints)


def _add_message_tools(add: Add, project: Project) -> None:
    async def queue_send(
        queue: str, body: str, base64: Annotated[bool, Field(description="as some SDKs do")] = False
    ) -> str:
        """Send a message to a queue."""
        options = ["--base64"] if base64 else []
        return await project.ask("queue", "send", name(queue, "queue"), "-", *options, stdin=body)

    async def queue_peek(queue: str, number: Annotated[int, Field(ge=1, le=16)] = 4, detail: Detail = False) -> str:
        """The visible messages of a queue, without receiving them; how many are hidden or delayed."""
        shown = await project.ask("queue", "attributes", name(queue, "queue"))
        counts = "\n".join(line for line in shown.splitlines() if "Messages" in line)
        try:
            messages = await project.ask("queue", "peek", queue, f"--number={number}", detail=detail)
        except ToolError as error:
            if not str(error).startswith("no message in"):
                raise
            messages = "No message is visible."
        return f"{counts}\n{messages}"

    async def topic_publish(topic: str, body: str, tag: str = "") -> str:
        """Publish a message to a topic."""
        options = [f"--tag={tag}"] if tag else []
        answer = await project.ask("topic", "publish", name(topic, "topic"), "-", *options, stdin=body)
        return f"{answer}\nnext: settle, then trace with the message's id"

    for function, hints in ((queue_send, CHANGES), (queue_peek, READS), (topic_publish, CHANGES)):
        add(function, hints)


def _add_lab_tools(add: Add, project: Project) -> None:
    async def trace(
        id: Annotated[str, Field(description="a request, message or call id, or FLOW/EXECUTION")],
        detail: Detail = False,
    ) -> str:
        """What caused a request, a message or an execution, and all that came of it, as a tree with times."""
        return await project.ask("trace", name(id, "trace"), detail=detail)

    async def clock(
        action: Literal["show", "advance", "to", "next", "freeze", "unfreeze"] = "show",
        value: Annotated[
            str, Field(description="a duration such as 1h for advance, a time for to, a number for next")
        ] = "",
        detail: Detail = False,
    ) -> str:
        """The emulator's time and what comes, or move it: timers, delays and timeouts on the way happen."""
        words = [] if action == "show" else [action, *filter(None, [name(value, "time")])]
        return await project.ask("clock", *words, detail=detail)

    async def settle(
        context: Context,
        timeout: Annotated[str, Field(description="real time, such as 30s")] = "10s",
        detail: Detail = False,
    ) -> str:
        """Wait until nothing is at work; says what still is when the time is over."""
        return await project.ask("settle", f"--timeout={timeout}", context=context, detail=detail)

    async def mock(
        action: Literal["add", "list", "remove", "calls"],
        function: Annotated[
            str, Field(description="[SERVICE/]FUNCTION; remove takes a mock's id, all when empty")
        ] = "",
        step: Annotated[str, Field(description="instead, for add: a task of a flow, FLOW/STEP")] = "",
        called: Annotated[
            str, Field(description="instead, for add: what tasks call, such as MNS:SendMessage or HTTP:Request")
        ] = "",
        returns: Annotated[list[str], Field(description="JSON results, one call after the other")] = [],  # noqa: B006
        raises: Annotated[str, Field(description="ERROR or ERROR:MESSAGE to fail with, after the results")] = "",
        detail: Detail = False,
    ) -> str:
        """Answer calls of a function or a task of flows in its place; what is mocked need not exist."""
        if action == "add" and not ((function or step or called) and (returns or raises)):
            raise ToolError("mock add takes a function, a step or what is called, with what it returns or raises")
        if action == "calls" and not function:
            raise ToolError("mock calls takes a function, or the id of a mock; action=list shows the mocks")
        options = [f"--returns={each}" for each in returns] + ([f"--raises={raises}"] if raises else [])
        options += ([f"--step={step}"] if step else []) + ([f"--action={called}"] if called else [])
        words = filter(None, [name(function, "function")])
        arguments = ([] if action == "list" else [*words]) + (options if action == "add" else [])
        return await project.ask("mock", action, *arguments, detail=detail)

    async def fault(
        action: Literal["add", "list", "remove"],
        service: Annotated[str, schemas.FAULTY_SERVICE] = "",
        operation: str = "",
        error: Annotated[str, Field(description="an error code of the service, such as ResourceExhausted")] = "",
        times: Annotated[int, Field(ge=0, description="so often; 0 is always")] = 0,
        id: Annotated[str, Field(description="for remove: the fault; all when empty")] = "",
        detail: Detail = False,
    ) -> str:
        """Have calls of a service fail, to see how a program bears it."""
        given = {"service": service, "operation": operation, "error": error, "times": times or ""}
        options = [f"--{option}={value}" for option, value in given.items() if value] if action == "add" else []
        return await project.ask("fault", action, *filter(None, [name(id, "fault")]), *options, detail=detail)

    async def checkpoint(
        consent: Annotated[Consent, Resolve(_of_checkpoint)],
        action: Literal["save", "restore", "list", "delete"],
        checkpoint: Annotated[str, Field(description="its name; not for list")] = "",
        detail: Detail = False,
    ) -> str:
        """Keep the whole state under a name, or put it back in place of the present one."""
        _agreed(consent)
        if action != "list" and not checkpoint:
            raise ToolError(f"checkpoint {action} takes the name of a checkpoint; action=list shows them")
        words = filter(None, [name(checkpoint, "checkpoint")])
        return await project.ask("checkpoint", action, *words, detail=detail)

    for function, hints in ((trace, READS), (clock, CHANGES), (settle, READS), (mock, CHANGES), (fault, CHANGES),
                            (checkpoint, DESTROYS)):  # fmt: skip
        add(function, hints)


def _add_trial_tools(add: Add, project: Project) -> None:
    async def flow_test(context: Context, file: File = "", detail: Detail = False) -> str:
        """Run the cases of flows (*.test.yaml) in a file or folder of the project."""
        words = ("flow", "test", project.file(file or "."), *project.within)
        said = await project.local(*words, context=context)
        if said.startswith("0 cases"):
            raise ToolError(
                "there are no cases in files *.test.yaml; docs_search page=flows/testing says how to write them"
            )
        return cut(said, detail=detail)

    async def explore(
        context: Context,
        flow: Flow,
        input: Json = "{}",
        deviations: Annotated[int, Field(ge=0, le=5, description="choices that differ from the first order")] = 2,
        order: Annotated[list[str], schemas.ORDER] = [],  # noqa: B006 - not changed
        faults: Annotated[list[str], schemas.VERDICTS] = [],  # noqa: B006 - not changed
        patience: Annotated[str, schemas.PATIENCE] = "1s",
        runs: Annotated[int, Field(ge=1, le=5000)] = 200,
        detail: Detail = False,
    ) -> str:
        """Run a flow in every order of its effects; tells the outcomes, each with the shortest order that leads there.

        The state is put back afterwards.
        """
        options = [f"--input={input}", f"--deviations={deviations}", f"--patience={patience}", f"--runs={runs}"]
        options += [f"--order={','.join(order)}"] if order else []
        options += [f"--faults={','.join(faults)}"] if faults else []
        return await project.ask("explore", name(flow, "flow"), "--no-link", *options, context=context, detail=detail)

    async def usage(
        execution: Annotated[str, schemas.USED_BY_EXECUTION] = "",
        deployment: Annotated[str, schemas.USED_BY_DEPLOYMENT] = "",
        prices: Annotated[str, Field(description="a list of prices of the project, YAML: also estimate the cost")] = "",
        scale: Annotated[float, Field(gt=0, description="so many times what has run")] = 1.0,
        detail: Detail = False,
    ) -> str:
        """What the cloud would meter for what has run, and with prices what that would cost."""
        options = [f"--scale={scale:g}", *([f"--prices={project.file(prices)}"] if prices else [])]
        options += [f"--execution={execution}"] if execution else []
        options += [f"--deployment={deployment}"] if deployment else []
        return await project.ask("usage", *options, detail=detail) or "Nothing has been used yet."

    for function, hints in ((flow_test, READS), (explore, CHANGES), (usage, READS)):
        add(function, hints)
