"""Usage joined to the services: the counts of all services, and the usage of a single execution."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from typing import Any

from emulator.gateway.traffic import Carried
from emulator.kernel.errors import ServiceError
from emulator.kernel.identity import Tenant
from emulator.kernel.metering import Amount
from emulator.lab.errors import LabError
from emulator.services.fc.administration import FunctionAdmin
from emulator.services.fc.invoke.metering import of_call
from emulator.services.fc.service import FunctionCompute
from emulator.services.mns.service import MessageService
from emulator.services.workflow.service import Workflow
from emulator.usage import requests

Node = Mapping[str, Any]
"""A node of a trace, as `emulator.lab.traces` shows it."""


class Counts:
    """All amounts counted by the services since the start. *carried* returns the gateway's counts."""

    def __init__(
        self,
        functions: FunctionAdmin,
        messages: MessageService,
        workflow: Workflow,
        carried: Callable[[], Iterable[Carried]],
    ) -> None:
        self._functions = functions
        self._messages = messages
        self._workflow = workflow
        self._carried = carried

    def __call__(self) -> Iterator[Amount]:
        """Yield the amounts."""
        yield from self._functions.metered()
        yield from self._messages.metered()
        yield from self._workflow.metered()
        yield from requests.amounts(self._carried())


class ExecutionUsage:
    """The usage of an execution: the steps of its history, and the calls, messages and executions in its trace.

    *trace* returns the tree of an id. The duration of a call is that in the trace, in whole milliseconds, and at least
    1, also while the clock is frozen: started milliseconds are billed.
    """

    def __init__(
        self,
        functions: FunctionCompute,
        messages: MessageService,
        workflow: Workflow,
        trace: Callable[[str], Mapping[str, Any]],
    ) -> None:
        self._functions = functions
        self._messages = messages
        self._workflow = workflow
        self._trace = trace

    async def of_execution(self, tenant: Tenant, flow: str, execution: str) -> list[Amount]:
        """Return the usage of an execution, child executions and their calls included.

        Raises: WorkflowError when there is no such execution.
        """
        used = list(await self._workflow.metered_execution(tenant, flow, execution))
        try:
            tree = self._trace(f"{flow}/{execution}")["tree"]
        except LabError:  # too long ago
            return used
        own = next((node for node in _below(tree) if node["key"] == f"execution {flow}/{execution}"), None)
        for node in _below(own["children"]) if own is not None else ():
            if node["kind"] == "execution":
                with suppress(ServiceError):  # deleted since then
                    used += await self._workflow.metered_execution(tenant, *node["name"].split("/", 1))
            else:
                used += self._of_node(tenant, node)
        return used

    def _of_node(self, tenant: Tenant, node: Node) -> Iterator[Amount]:
        name = str(node["name"])
        match node["kind"]:
            case "call":
                with suppress(ServiceError):  # a mock answered for a function that does not exist
                    service, _, function = name.rpartition("/")
                    size = self._functions.resolver.target(tenant, service, function, None, 1.0).image.size
                    yield from of_call(name, size, max(1, int(node["duration_ms"] or 0)))
                    return
                yield Amount("fc.calls", name, "mock", 1)
            case "push":
                yield Amount("mns.pushes", f"topics/{name.partition('/')[0]}", "", 1)
            case "message" if _is_sent(node):
                is_topic = self._messages.is_topic(tenant, name)
                yield requests.of_messages("PublishMessage" if is_topic else "SendMessage", name, 1)
            case "request" if name.startswith("mns "):
                yield requests.of_messages(name.partition(" ")[2], "", 1)


def _is_sent(node: Node) -> bool:
    """Whether a step has sent the message; those sent by requests and pushes are metered as such."""
    return node["above"] not in {"push", "request"}


def _below(nodes: Iterable[Node], above: str = "") -> Iterator[dict[str, Any]]:
    """Yield *nodes* and all their descendants, each with the kind of its parent as ``above``."""
    for node in nodes:
        yield {**node, "above": above}
        yield from _below(node["children"], node["kind"])
