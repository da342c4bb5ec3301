"""The resources an assistant can read, and the prompts that begin a task."""

from typing import Final

from mcp.server import MCPServer
from mcp.server.mcpserver.exceptions import ResourceError, ToolError

from emulator.cli import pages
from emulator.cli.assistant.running import Project, name

_WHY: Final = """Find out why the execution {execution} of the flow {flow} failed.
Call flow_show, then trace with {flow}/{execution}, then logs with the request of the step that failed. Look error codes
up with docs_search. Say the cause in one sentence, then the smallest change that mends it."""

_TEST: Final = """Write a test for the flow {flow} with the pytest fixture `localyun`.
Read docs://testing and flow://{flow} first. Mock what the flow calls, start it, let time pass by `localyun.skip()`, and
assert status, output and the calls that were made. Cover one failure that the flow catches and one that it does not."""

_ORDER: Final = """Find an order of events that breaks the flow {flow}.
List what can overtake what: callbacks against timeouts, retries against late answers, messages that come twice. Save a
checkpoint and mock what the flow calls. Then call explore with flow={flow}: it runs every order and tells the outcomes.
Report the shortest order that leads to one which should not be, and the smallest change that rules it out."""


def add_resources(server: MCPServer, project: Project) -> None:
    """Add definitions, executions, traces, queues, logs and pages of the documentation."""

    async def read(*words: str, detail: bool = True) -> str:
        try:
            return await project.ask(*words, detail=detail)
        except ToolError as error:  # the SDK would take a ToolError for a crash here and hide its text
            raise ResourceError(str(error)) from error

    @server.resource("flow://{flow}", description="A flow with its definition")
    async def flow(flow: str) -> str:
        return await read("flow", "describe", name(flow, "flow"))

    @server.resource("execution://{flow}/{execution}", description="The history of an execution")
    async def execution(flow: str, execution: str) -> str:
        return await read("flow", "history", name(flow, "flow"), name(execution, "execution"))

    @server.resource("trace://{id}", description="Causes and effects of a request, a message or a call")
    async def trace(id: str) -> str:
        return await read("trace", name(id, "trace"))

    @server.resource("queue://{queue}", description="The attributes of a queue, with the numbers of its messages")
    async def queue(queue: str) -> str:
        return await read("queue", "attributes", name(queue, "queue"))

    @server.resource("logs://{service}/{function}", description="What a function has printed")
    async def logs(service: str, function: str) -> str:
        return await read("logs", name(f"{service}/{function}", "function"))

    @server.resource("logs://{function}", description="What a function without service has printed")
    async def own_logs(function: str) -> str:
        return await read("logs", name(function, "function"))

    for page in pages.names():
        _add_page(server, page)


def _add_page(server: MCPServer, page: str) -> None:
    @server.resource(f"docs://{page}", name=page, description=pages.title(pages.read(page)), mime_type="text/markdown")
    def read() -> str:
        return pages.read(page)


def add_prompts(server: MCPServer) -> None:
    """Add the three prompts."""

    @server.prompt(title="Why did this execution fail?", description="Its cause, and the smallest change that mends it")
    def why_did_it_fail(flow: str, execution: str) -> str:
        return _WHY.format(flow=flow, execution=execution)

    @server.prompt(title="Write a test for this flow", description="For pytest, with mocks, in the emulator's time")
    def write_a_test(flow: str) -> str:
        return _TEST.format(flow=flow)

    @server.prompt(title="Find an order that breaks it", description="The shortest one that ends as it should not")
    def find_a_breaking_order(flow: str) -> str:
        return _ORDER.format(flow=flow)
