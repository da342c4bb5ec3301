"""The message of a refusal: the emulator's own texts translated, and a suggestion for a misspelt name.

Messages of services stay as their clients know them. The code of a refusal tells the kind of the missing resource; a
suggestion costs one more call, for one page of a list.
"""

import re
from argparse import Namespace
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from itertools import islice
from urllib.parse import quote

from emulator.cli.client import FC3_VERSION, FC_VERSION, Client, connect
from emulator.cli.deploy_client import DeployClient
from emulator.cli.mns import Mns, path_of
from emulator.cli.output import CallRefused, CommandFailed, _, sentences, spoken
from emulator.cli.parser import meant, near_name
from emulator.config import Settings
from emulator.kernel.frozen import frozen

_PAGE = 50
"""The most names requested for a suggestion, one page."""

_ENDS = (".", "\u3002", "!", "?")


@frozen(kw_only=False)
class Kind:
    """A kind of resource: ``given`` returns the name given to the command, ``listed`` the existing names."""

    given: Callable[[Namespace], str]
    listed: Callable[[Client, Namespace], Iterable[str]]


def told(refusal: CallRefused, arguments: Namespace, settings: Settings) -> str:
    """Return the message of a refusal, with the most similar existing name when one is missing."""
    text = f"{refusal.code}: {spoken(refusal.said)}" if refusal.is_own and refusal.code else str(refusal)
    kind = _KINDS.get(refusal.code) or _of_the_emulator(refusal)
    name = kind.given(arguments) if kind else ""
    if not kind or not name:
        return text
    with suppress(CommandFailed, KeyError):  # without a list of names nothing is suggested
        names = [each for each in islice(kind.listed(connect(settings).looking(), arguments), _PAGE) if each != name]
        behind = (each for each in names if each.endswith(f"/{name}"))  # the user may have left out the service
        if near := next(behind, "") or near_name(name, names):
            ended = text.endswith(_ENDS)
            return sentences(text, _("Did you mean {name}?", name=near)) if ended else text + meant(near)
    return text


def _argument(*names: str) -> Callable[[Namespace], str]:
    """Return a function that returns the first of some arguments that was given."""

    def given(arguments: Namespace) -> str:
        values = (getattr(arguments, name, None) for name in names)
        page = getattr(arguments, "page", "")  # the argument of `console`, such as flows/greeting
        return next((str(value) for value in values if value), page.partition("/")[2])

    return given


_function = _argument("function", "mock", "calls")


def _flow(arguments: Namespace) -> str:
    """Return the name of a flow, without that of an execution after it."""
    return _argument("flow", "execution", "step")(arguments).partition("/")[0]


def _execution(arguments: Namespace) -> str:
    """Return the name of an execution, without that of its flow before it."""
    return _argument("execution", "flow")(arguments).rpartition("/")[2]


def _service(arguments: Namespace) -> str:
    """Return the service of a function, without its version or alias."""
    return _function(arguments).rpartition("/")[0].partition(".")[0]


def _functions(client: Client, arguments: Namespace) -> Iterable[str]:
    """Return the names of functions for commands: of the given service, else of all."""
    service, slash, _name = _function(arguments).rpartition("/")
    names: list[str] = client.admin("GET", "status")["functions"]
    if not slash:
        return names
    own = f"{_service(arguments)}/"
    return [f"{service}/{each.removeprefix(own)}" for each in names if each.startswith(own)]


def _services(client: Client, arguments: Namespace) -> Iterable[str]:
    page = client.functions("GET", f"/{FC_VERSION}/services?limit={_PAGE}", b"", {}).json()
    return [each["serviceName"] for each in page["services"]]


def _triggers(client: Client, arguments: Namespace) -> Iterable[str]:
    service, _slash, name = _function(arguments).rpartition("/")
    version = f"{FC_VERSION}/services/{quote(service, safe='')}" if service else FC3_VERSION
    page = client.functions("GET", f"/{version}/functions/{quote(name, safe='')}/triggers?limit={_PAGE}", b"", {})
    return [each["triggerName"] for each in page.json()["triggers"]]


def _of_flow(action: str, member: str, name: str) -> Callable[[Client, Namespace], Iterable[str]]:
    """Return a function that lists the executions or schedules of a flow."""
    return lambda client, arguments: (
        row[name] for row in client.workflow_pages(action, member, FlowName=_flow(arguments), Limit=str(_PAGE))
    )


def _messaging(entry: str, *path: str) -> Callable[[Client, Namespace], Iterable[str]]:
    """Return a function that lists queues, topics or, when *path* names a topic, its subscriptions."""
    return lambda client, arguments: (
        row[f"{entry}Name"]
        for row in Mns(client).listed(path_of(*(each.format_map(vars(arguments)) for each in path)), entry)
    )


def _of_lab(page: str, member: str) -> Callable[[Client, Namespace], Iterable[str]]:
    """Return a function that lists resources of the lab."""
    return lambda client, arguments: (row[member] for row in client.admin("GET", page)[page])


_KINDS: Mapping[str, Kind] = {
    "FlowNotExists": Kind(
        _flow, lambda client, arguments: (row["Name"] for row in client.workflow_pages("ListFlows", "Flows"))
    ),
    "ExecutionNotExists": Kind(_execution, _of_flow("ListExecutions", "Executions", "Name")),
    "ScheduleNotExists": Kind(_argument("schedule"), _of_flow("ListSchedules", "Schedules", "ScheduleName")),
    "QueueNotExist": Kind(_argument("queue"), _messaging("Queue", "queues")),
    "TopicNotExist": Kind(_argument("topic"), _messaging("Topic", "topics")),
    "SubscriptionNotExist": Kind(
        _argument("subscription"), _messaging("Subscription", "topics", "{topic}", "subscriptions")
    ),
    "FunctionNotFound": Kind(_function, _functions),
    "ServiceNotFound": Kind(_service, _services),
    "TriggerNotFound": Kind(_argument("trigger"), _triggers),
}
"""Kinds by the services' error codes."""


def _executions(client: Client, arguments: Namespace) -> Iterable[str]:
    """Return the flows, each with the name of the requested execution; none when another id was given."""
    execution = _argument("id")(arguments).partition("/")[2]
    flows = client.workflow_pages("ListFlows", "Flows") if execution else ()
    return [f"{row['Name']}/{execution}" for row in flows]


_THING = re.compile(r"there is no ([a-z, ]+) ['\d]", re.IGNORECASE)
_OWN: Mapping[str, Kind] = {
    "checkpoint": Kind(_argument("name"), _of_lab("checkpoints", "name")),
    "fault": Kind(_argument("name"), _of_lab("faults", "id")),
    "mock": Kind(_argument("name", "mock"), _of_lab("mocks", "id")),
    "sink": Kind(_argument("name"), _of_lab("sinks", "id")),
    "request, message, call or execution": Kind(_argument("id"), _executions),
    "account": Kind(_argument("account"), _of_lab("accounts", "accountId")),
    "deployment": Kind(
        _argument("deployment"), lambda client, arguments: [each.name for each in DeployClient(client).records()]
    ),
}
"""Kinds of the emulator's own resources, whose refusals have one code, by the word in the message."""


def _of_the_emulator(refusal: CallRefused) -> Kind | None:
    found = _THING.search(str(refusal)) if refusal.code in {"NotFound", "InvalidArgument"} else None
    return _OWN.get(found[1]) if found else None
