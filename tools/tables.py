"""Tables of the pages that are written from the program itself.

    python -m tools.tables     rewrites what stands between marks such as <!-- operations: NAME --> and <!-- end -->

A row of a table of operations holds the operation's name, its API versions where a service has several, whether it is
served, the first line of its documentation, and what the behaviour is known from.
"""

from __future__ import annotations

import dataclasses
import inspect
import re
import tomllib
from collections import Counter
from collections.abc import Callable, Iterable
from functools import cached_property, partial
from importlib import metadata
from pathlib import Path
from typing import Any

from emulator.kernel.ids import CountingIds
from emulator.wire.operation import Operation, operations_of
from emulator.wire.schema.kinds import Shape, Tagged
from emulator.wire.schema.markdown import markdown_table
from tools.sbom import LICENCES, licence, needed, plain, vendored_files

DOCS = Path(__file__).resolve().parent.parent / "docs"
PAGES = tuple(
    DOCS / name
    for name in (
        "admin-api.md", "comparison.md", "configuration.md", "fidelity.md", "kit.md", "licences.md",
        "fields.md", "usage.md", "zh-CN/configuration.md", "zh-CN/fields.md", "zh-CN/usage.md",
    )
)  # fmt: skip
_TABLE = re.compile(r"(<!-- ([\w: ]+) -->\n).*?(<!-- end -->)", re.DOTALL)
_SOURCE = re.compile(r"Source: (.*?)(?:\n\s*\n|\Z)", re.DOTALL)

_CLIENTS = {
    "2016-08-15": "aliyun-fc2 `client.py`",
    "2021-04-06": "alibabacloud_fc_open20210406",
    "2023-03-30": "alibabacloud_fc20230330",
}
"""The client whose requests and models show an API version of Function Compute."""

_VARIANTS = {"ListObjects": "ListObjectsV2", "PutObject": "CopyObject", "UploadPart": "UploadPartCopy"}
"""Operations that the reference of OSS names, and that a header or a parameter tells from others."""


def rewritten(text: str) -> str:
    """Return *text* with each table between marks written again."""
    return _TABLE.sub(lambda found: f"{found[1]}{TABLES[found[2]]()}{found[3]}", text)


def functions() -> str:
    """Return the table of Function Compute."""
    from emulator.services.fc.front import ROUTES

    rows: dict[str, tuple[list[str], Operation]] = {}
    for version, routes in ROUTES.items():
        for each in routes:
            versions, _ = rows.setdefault(each.name, ([], each))
            if version not in versions:
                versions.append(version)
    return _table(
        ("operation", "APIs", "status", "what it does", "known from"),
        (
            (f"`{name}`", ", ".join(versions), *_about(each, ", ".join(_CLIENTS[version] for version in versions)))
            for name, (versions, each) in rows.items()
        ),
    )


def _plain(find: Callable[[], Iterable[Operation]], client: str) -> Callable[[], str]:
    """Return what renders the table of a service with one API."""

    def render() -> str:
        rows = {
            name: _about(each, client)
            for each in find()
            if "?" not in each.name
            for name in (each.name, _VARIANTS.get(each.name, each.name))
        }
        return _table(
            ("operation", "status", "what it does", "known from"), ((f"`{name}`", *row) for name, row in rows.items())
        )

    return render


def _about(each: Operation, client: str) -> tuple[str, str, str]:
    told = _SOURCE.search(each.perform.__doc__ or "")
    source = " ".join(told[1].split()).rstrip(".") if told else f"API reference; {client}"
    status = "refused" if each.summary.startswith("Refuse") else "served"
    return status, _markdown(each.summary), _markdown(source)


def _markdown(text: str) -> str:
    """Return a line of a docstring for a cell of a table."""
    return text.replace("``", "`").replace("|", "\\|").replace("<", "&lt;").replace("*", "\\*")


def _table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    lines = [head, ("---",) * len(head), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines).replace("| --- ", "|---").replace("--- |", "---|")


def _flows() -> Iterable[Operation]:
    from emulator.services.workflow.front import WorkflowFront

    return WorkflowFront(None, CountingIds()).operations  # type: ignore[arg-type]  # only the declarations are read


def _roles() -> Iterable[Operation]:
    from emulator.services.ram.front import RamFront

    return RamFront(None, CountingIds()).operations  # type: ignore[arg-type]  # only the declarations are read


def _tokens() -> Iterable[Operation]:
    from emulator.services.sts.front import StsFront

    return StsFront(None, CountingIds()).operations  # type: ignore[arg-type]  # only the declarations are read


def _messages() -> Iterable[Operation]:
    from emulator.services.mns.front import ROUTES

    return ROUTES


def _management() -> Iterable[Operation]:
    from emulator.services.mns.operations import management, settings

    return operations_of(management, settings)


def _objects() -> Iterable[Operation]:
    from emulator.oss import buckets, objects, uploads

    return operations_of(buckets, objects, uploads)


def limits() -> str:
    """Return the table of limits that users meet first."""
    from emulator.services.fc import limits as fc
    from emulator.services.mns import limits as mns
    from emulator.services.workflow import limits as fnf

    rows = (
        ("timeout of a function", f"{fc.TIMEOUT_S.low} to {fc.TIMEOUT_S.high:,} s"),
        ("memory of a function", f"{fc.MEMORY_MB.low} to {fc.MEMORY_MB.high:,} MB"),
        ("payload of a synchronous call, and its answer", f"{fc.SYNC_PAYLOAD_BYTES // fc.MIB} MiB"),
        ("payload of an asynchronous call", f"{fc.ASYNC_PAYLOAD_BYTES // fc.KIB} KiB"),
        ("code package in a request", f"{fc.CODE_PACKAGE_BYTES // fc.MIB} MiB"),
        ("code package in a bucket", f"{fc.CODE_OBJECT_BYTES // fc.MIB} MiB"),
        ("environment variables of a function", f"{fc.ENVIRONMENT_BYTES // fc.KIB} KiB"),
        ("a message", f"{mns.MESSAGE_SIZE.low:,} to {mns.MESSAGE_SIZE.high:,} bytes, as its queue says"),
        ("a batch of messages", f"{mns.BATCH.high} messages, {mns.BATCH_BYTES:,} bytes"),
        ("retention of a message", f"{mns.RETENTION_S.low} to {mns.RETENTION_S.high:,} s"),
        ("visibility timeout", f"{mns.VISIBILITY_TIMEOUT_S.low} to {mns.VISIBILITY_TIMEOUT_S.high:,} s"),
        ("long poll", f"up to {mns.POLLING_WAIT_S.high} s"),
        ("subscriptions of a topic", f"{mns.SUBSCRIPTIONS}"),
        ("input and output of a step", f"{fnf.STEP_DATA_BYTES // 1024} KiB"),
    )
    return _table(("what", "limit"), rows)


def admin_api() -> str:
    """Return the table of the admin API, from the document a running emulator serves."""
    from emulator.testing import Emulator

    with Emulator() as kit:
        document = kit.api.admin("GET", "openapi.json")
    return _table(
        ("call", "what it does", "arguments", "token"),
        (
            (f"`{method.upper()} {path}`", _markdown(each["summary"]), _arguments(each), _token(each))
            for path, methods in document["paths"].items()
            for method, each in methods.items()
        ),
    )


def _arguments(operation: dict[str, Any]) -> str:
    content = operation.get("requestBody", {}).get("content", {}).get("application/json", {})
    names = [each["name"] for each in operation.get("parameters", ()) if each["in"] == "query"]
    names += content.get("schema", {}).get("properties", {})
    return ", ".join(f"`{name}`" for name in names)


def _token(operation: dict[str, Any]) -> str:
    security = operation.get("security")
    return "yes" if security is None else "no"


KIT = {
    "Localyun": "localyun",
    "Clock": "localyun.clock",
    "Queue": "localyun.queue(...)",
    "Message": "queue.receive()",
    "Topic": "localyun.topic(...)",
    "Flow": "localyun.flow(...)",
    "Execution": "flow.start(...)",
    "Usage": "localyun.usage()",
    "InvokeResult": "localyun.invoke(...)",
    "Call": "localyun.calls(...)",
    "Mock": "localyun.mock(...)",
    "Sink": "localyun.sink(...)",
    "ReceivedRequest": "sink.requests",
    "Faults": "localyun.faults",
    "Checkpoint": "localyun.checkpoint(...)",
    "Emulator": "Emulator(...)",
}
"""The classes of the test kit, each with what a test writes to get one."""


def kit() -> str:
    """Return the reference of `emulator.testing`: each class with its public members."""
    from emulator import testing

    sections = []
    for name, origin in KIT.items():
        kind = getattr(testing, name)
        about = _markdown(" ".join((inspect.getdoc(kind) or "").partition("\n\n")[0].split()))
        members = "".join(f"- `{shown}`: {told}\n" for shown, told in _members(kind))
        sections.append(f"## {name}\n\n`{origin}`: {about}\n\n{members}")
    return "\n" + "\n".join(sections) + "\n"


def _members(kind: type) -> Iterable[tuple[str, str]]:
    if kind.__name__ == "Emulator":  # the one class of these that a test makes itself
        yield f"Emulator{_signature(kind)}", "the process, not yet started."
    if dataclasses.is_dataclass(kind):
        yield ", ".join(f"{each.name}: {_type(each.type)}" for each in dataclasses.fields(kind)), "fields."
    for name, member in vars(kind).items():
        if name.startswith("_"):
            continue
        told = _markdown((inspect.getdoc(member) or "").partition("\n")[0])
        if inspect.isfunction(member):
            yield f"{name}{_signature(member)}", told
        elif isinstance(member, property):
            yield f"{name}: {_type(inspect.signature(member.fget).return_annotation)}", told  # type: ignore[arg-type]
        elif isinstance(member, cached_property):
            yield name, told


def _signature(member: Any) -> str:
    """Return the signature as a test's author reads it: without ``self`` and the quotes of types that come later."""
    whole = inspect.signature(member)
    own = [each for each in whole.parameters.values() if each.name != "self"]
    text = str(whole.replace(parameters=own)).removesuffix(" -> None")
    unquoted = re.sub(r"(: |-> )'([^']*)'", r"\1\2", text)
    return _type(re.sub(r"= '([^']*)'", r'= "\1"', unquoted))


def _type(annotation: Any) -> str:
    text = annotation if isinstance(annotation, str) else inspect.formatannotation(annotation)
    text = re.sub(r"\b(?:[a-z]+\.)+(?=\w)", "", text)
    return text.replace("str | float | timedelta", "Duration")


def vendored() -> str:
    """Return the table of files of others inside the package."""
    return _table(
        ("file", "licence"), ((f"`{path.relative_to(DOCS.parent)}`", LICENCES[path.name]) for path in vendored_files())
    )


def dependencies() -> str:
    """Return the table of what an installation without extras holds."""
    return _table(("package", "licence"), ((name, licence(name)) for name in sorted(needed()) if name != "localyun"))


def extras() -> str:
    """Return the table of what each extra asks for."""
    project = tomllib.loads((DOCS.parent / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    held = project["optional-dependencies"]["dev"][0]  # what the environment of this project has
    found: dict[str, set[str]] = {}
    for requirement in metadata.requires("localyun") or []:
        name, (_, _, condition) = plain(requirement), requirement.partition("extra ==")
        extra = condition.strip(" '\"")
        if extra not in ("", "dev", "fuzz") and extra in held and name != "localyun":
            found.setdefault(name, set()).add(extra)
    return _table(
        ("package", "extra", "licence"),
        ((name, ", ".join(sorted(wanting)), licence(name)) for name, wanting in sorted(found.items())),
    )


def attributes(name: str, *, chinese: bool) -> Callable[[], str]:
    """Return what renders the table of what ``localyun.yaml`` may say of a resource."""
    from emulator.deploy import seeds
    from emulator.services.mns.queues.model import QUEUE
    from emulator.services.mns.topics.model import SUBSCRIPTION, TOPIC

    shapes = {"queue": QUEUE, "topic": TOPIC, "subscription": SUBSCRIPTION}
    shapes |= {kind.removesuffix("s"): shape for kind, shape in seeds.SHAPES.items()}
    return lambda: markdown_table(shapes[name], "file", chinese=chinese)


def function_fields(*, chinese: bool) -> str:
    """Return the tables of the fields of functions and services."""
    from emulator.services.fc.catalog.fields import FUNCTION_2, FUNCTION_3, SERVICE

    shared = {each.name for each in FUNCTION_3}
    older = Shape("", (each for each in FUNCTION_2 if each.name not in shared), FUNCTION_2.record)
    titles = (
        (
            "A function without a service",
            "What only a function of a service has",
            "A service",
        ),
        ("没有服务的函数", "只有服务中的函数才有", "服务"),
    )[chinese]
    return _sections(zip(titles, (FUNCTION_3, older, SERVICE), strict=True), "file", chinese=chinese)


def flow_fields(*, chinese: bool) -> str:
    """Return the tables of the fields of the flow definition language."""
    from emulator.services.workflow.languages.fdl import reader, tasks

    shapes = [("flow", reader.FLOW), *_kinds(reader.STEP, chinese=chinese)]
    return _sections((*shapes, ("retry", tasks.RETRY), ("catch", tasks.CATCH)), "definition", chinese=chinese)


def machine_fields(*, chinese: bool) -> str:
    """Return the tables of the fields of state machines, and of the parameters of what tasks call."""
    from emulator.services.workflow.languages.statemachine import actions, reader, reading

    shapes = [("StateMachine", reader.MACHINE), *_kinds(reader.STATE, chinese=chinese)]
    called = [(name, each.parameters) for name, each in actions.ACTIONS.items() if each.stands_for is not None]
    shapes += [("Retry", reading.RETRY), ("Catch", reading.CATCH), *called]
    return _sections(shapes, "definition", chinese=chinese)


def _kinds(tagged: Tagged, *, chinese: bool) -> Iterable[tuple[str, Shape]]:
    """Yield the fields that most kinds have, and then those that each kind has besides."""
    fields = [each for shape in tagged.shapes.values() for each in shape if each.help[0]]
    count = Counter(each.name for each in fields)
    usual = {each.name: each for each in fields if count[each.name] > len(tagged.shapes) // 2}
    yield ("most kinds", "多数类型")[chinese], Shape("", usual.values())
    for name, shape in tagged.shapes.items():
        own = [each for each in shape if each.help[0] and each.name not in usual and not each.name.endswith(".$")]
        if own:
            yield name, Shape("", own)


def _sections(shapes: Iterable[tuple[str, Shape]], form: str, *, chinese: bool) -> str:
    tables = (f"### {title}\n\n{markdown_table(shape, form, chinese=chinese)}" for title, shape in shapes)
    return "\n" + "\n".join(tables) + "\n"


_RESOURCES = ("queue", "topic", "subscription", "flow", "schedule", "bucket", "role")


def usage_items(*, chinese: bool) -> str:
    """Return the table of what is metered, with what of each rule is known from where and what is a guess."""
    from emulator.usage.items import ITEMS

    head = ("计量项", "单位", "规则", "来源", "假设") if chinese else ("item", "unit", "rule", "source", "assumed")
    rows = [
        (f"`{item.name}`", item.unit[chinese], _cell(item.help[chinese]), item.source, _cell(item.assumed[chinese]))
        for item in ITEMS
    ]
    return "".join(f"| {' | '.join(cells)} |\n" for cells in (head, ("---",) * len(head), *rows))


def price_rows(*, chinese: bool) -> str:
    """Return the table of a line of a list of prices."""
    from emulator.usage.prices import PRICE

    return _rows_of(PRICE, chinese=chinese)


def tier_rows(*, chinese: bool) -> str:
    """Return the table of a tier of prices."""
    from emulator.usage.prices import TIER

    return _rows_of(TIER, chinese=chinese)


def _cell(text: str) -> str:
    """Return a sentence as a cell of a table; in Chinese no mark stands before a blank."""
    return text.removesuffix("。")


def _rows_of(shape: Shape, *, chinese: bool) -> str:
    head = ("键", "必填", "说明") if chinese else ("key", "required", "what it is")
    yes = "是" if chinese else "yes"
    rows = [(f"`{each.name}`", yes if each.required else "", _cell(each.help[chinese])) for each in shape]
    return "".join(f"| {' | '.join(cells)} |\n" for cells in (head, ("---",) * len(head), *rows))


def suites() -> str:
    """Return the table of the suites of the SDKs' makers."""
    from tests.suites.figures import markdown  # it needs what tests need, other tables do not

    return markdown()


TABLES: dict[str, Callable[[], str]] = {
    **{f"attributes: {name}": attributes(name, chinese=False) for name in _RESOURCES},
    **{f"attributes: zh {name}": attributes(name, chinese=True) for name in _RESOURCES},
    **{
        f"fields: {'zh ' if chinese else ''}{name}": partial(rendered, chinese=chinese)
        for name, rendered in (("functions", function_fields), ("flows", flow_fields), ("machines", machine_fields))
        for chinese in (False, True)
    },
    "admin API": admin_api,
    "dependencies": dependencies,
    "extras": extras,
    "limits": limits,
    "suites": suites,
    "test kit": kit,
    **{
        f"usage: {'zh ' * chinese}{table}": partial(made, chinese=chinese)
        for chinese in (False, True)
        for table, made in (("items", usage_items), ("prices", price_rows), ("tiers", tier_rows))
    },
    "vendored files": vendored,
    "operations: Function Compute": functions,
    "operations: Object storage": _plain(_objects, "oss2, ali-oss"),
    "operations: Serverless Workflow": _plain(_flows, "aliyun-python-sdk-fnf, alibabacloud_fnf20190315"),
    "operations: Security Token Service": _plain(_tokens, "alibabacloud_sts20150401"),
    "operations: Resource Access Management": _plain(_roles, "alibabacloud_ram20150501"),
    "operations: Message Service": _plain(_messages, "aliyun-mns-sdk"),
    "operations: Message management": _plain(_management, "alibabacloud_mns_open20220119"),
}


if __name__ == "__main__":
    for page in PAGES:
        page.write_text(rewritten(page.read_text(encoding="utf-8")), encoding="utf-8")
