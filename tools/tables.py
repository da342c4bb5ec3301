"""Tables in pages that are generated from the program.

python -m tools.tables     rewrites what stands between marks such as <!-- operations: NAME --> and <!-- end -->

Tables of operations are in `tools/operations.py`, the reference of the test kit is in `tools/kit.py`.
"""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from collections.abc import Callable, Iterable
from functools import partial
from importlib import metadata
from pathlib import Path
from typing import Any

from emulator.wire.schema.kinds import Field, Shape, Tagged
from emulator.wire.schema.markdown import markdown_table
from tools import kit, operations
from tools.cells import markdown, table
from tools.chinese import Say, english
from tools.chinese import chinese as in_chinese
from tools.sbom import LICENCES, licence, needed, plain, vendored_files

DOCS = Path(__file__).resolve().parent.parent / "docs"
PAGES = tuple(
    DOCS / name
    for name in (
        "admin-api.md", "comparison.md", "configuration.md", "fidelity.md", "kit.md", "licences.md",
        "fields.md", "usage.md", "zh-CN/configuration.md", "zh-CN/fidelity.md", "zh-CN/fields.md", "zh-CN/kit.md",
        "zh-CN/usage.md",
    )
)  # fmt: skip
_TABLE = re.compile(r"(<!-- ([\w: ]+) -->\n).*?(<!-- end -->)", re.DOTALL)


def rewritten(text: str) -> str:
    """Return *text* with the tables between marks generated again."""
    return _TABLE.sub(lambda found: f"{found[1]}{TABLES[found[2]]()}{found[3]}", text)


def limits() -> str:
    """Return the table of the most important limits."""
    from emulator.services.fc import limits as fc
    from emulator.services.mns import limits as mns
    from emulator.services.workflow import limits as fnf
    from emulator.services.workflow.languages.statemachine.nodes import DATA_BYTES

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
        ("input and output of a step", f"{fnf.STEP_DATA_BYTES // 1024} KiB; of a state {DATA_BYTES // 1024} KiB"),
    )
    return table(("what", "limit"), rows)


def admin_api() -> str:
    """Return the table of the admin API, from the document a running emulator serves."""
    from emulator.testing import Emulator

    with Emulator() as kit:
        document = kit.api.admin("GET", "openapi.json")
    return table(
        ("call", "what it does", "arguments", "token"),
        (
            (f"`{method.upper()} {path}`", markdown(each["summary"]), _arguments(each), _token(each))
            for path, methods in document["paths"].items()
            for method, each in methods.items()
        ),
    )


def _arguments(operation: dict[str, Any]) -> str:
    content = operation.get("requestBody", {}).get("content", {}).get("application/json", {})
    schemas = {each["name"]: each["schema"] for each in operation.get("parameters", ()) if each["in"] == "query"}
    schemas |= content.get("schema", {}).get("properties", {})
    return ", ".join(
        f"`{name}` (Base64)" if "contentEncoding" in schema else f"`{name}`" for name, schema in schemas.items()
    )


def _token(operation: dict[str, Any]) -> str:
    security = operation.get("security")
    return "yes" if security is None else "no" if security == [{}] else "with `--host`"


def vendored() -> str:
    """Return the table of vendored files."""
    return table(
        ("file", "licence"), ((f"`{path.relative_to(DOCS.parent)}`", LICENCES[path.name]) for path in vendored_files())
    )


def dependencies() -> str:
    """Return the table of distributions in an installation without extras."""
    return table(("package", "licence"), ((name, licence(name)) for name in sorted(needed()) if name != "localyun"))


def extras() -> str:
    """Return the table of extras with their requirements."""
    project = tomllib.loads((DOCS.parent / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    held = project["optional-dependencies"]["dev"][0]  # it lists the extras that this environment has
    found: dict[str, set[str]] = {}
    for requirement in metadata.requires("localyun") or []:
        name, (_, _, condition) = plain(requirement), requirement.partition("extra ==")
        extra = condition.strip(" '\"")
        if extra not in ("", "dev", "fuzz") and extra in held and name != "localyun":
            found.setdefault(name, set()).add(extra)
    return table(
        ("package", "extra", "licence"),
        ((name, ", ".join(sorted(wanting)), licence(name)) for name, wanting in sorted(found.items())),
    )


def attributes(name: str, *, chinese: bool) -> Callable[[], str]:
    """Return the function that renders the table of a resource's attributes in ``localyun.yaml``."""
    from emulator.deploy import seeds
    from emulator.services.mns.queues.model import QUEUE
    from emulator.services.mns.topics.model import SUBSCRIPTION, TOPIC

    shapes = {"queue": QUEUE, "topic": TOPIC, "subscription": SUBSCRIPTION}
    shapes |= {kind.removesuffix("s"): shape for kind, shape in seeds.SHAPES.items()}
    return lambda: markdown_table(shapes[name], "file", chinese=chinese)


def function_fields(*, chinese: bool) -> str:
    """Return the tables of the fields of functions and services."""
    from emulator.services.fc.catalog.fields import FUNCTION_2, FUNCTION_3, SERVICE_FILE

    shared = {each.name for each in FUNCTION_3}
    older = Shape("", (each for each in FUNCTION_2 if each.name not in shared), FUNCTION_2.record)
    titles = (
        (
            "A function without a service",
            "What only a function of a service has",
            "A service",
        ),
        ("不属于服务的函数", "仅用于服务中的函数", "服务"),
    )[chinese]
    return _sections(zip(titles, (FUNCTION_3, older, SERVICE_FILE), strict=True), "file", chinese=chinese)


def component_fields(*, chinese: bool) -> str:
    """Return the table of the components for roles, policies and buckets, with their fields."""
    from emulator.deploy.s_fc_components import RAM
    from emulator.deploy.service_fields import BUCKET, POLICY, ROLE
    from emulator.wire.schema.kinds import Noted

    def names(fields: Iterable[Field]) -> str:
        return ("、" if chinese else ", ").join(f"`{each.name}`" for each in fields)

    rows = []
    for name, fields in (("ram", RAM), ("ram-role", ROLE), ("ram-policy", POLICY), ("oss-bucket", BUCKET)):
        kept = [each for each in fields if not isinstance(each.kind, Noted)]
        noted = [each for each in fields if isinstance(each.kind, Noted)]
        required = [each for each in kept if each.required]
        others = [each for each in kept if not each.required]
        rows.append((f"`{name}`", names(required), names(others), names(noted)))
    head = (
        ("component", "required", "further fields", "noted, without effect"),
        ("组件", "必填", "其他字段", "仅提示，没有作用"),
    )[chinese]
    return table(head, rows)


def flow_fields(*, chinese: bool) -> str:
    """Return the tables of the fields of the flow definition language."""
    from emulator.services.workflow.languages.fdl import reader, tasks

    shapes = [("flow", reader.FLOW), *_kinds(reader.STEP, chinese=chinese)]
    return _sections((*shapes, ("retry", tasks.RETRY), ("catch", tasks.CATCH)), "definition", chinese=chinese)


def machine_fields(*, chinese: bool) -> str:
    """Return the tables of the fields of state machines, and of the parameters of tasks."""
    from emulator.services.workflow.languages.statemachine import actions, reader, reading

    shapes = [("StateMachine", reader.MACHINE), *_kinds(reader.STATE, chinese=chinese)]
    called = [(name, each.parameters) for name, each in actions.ACTIONS.items() if each.stands_for is not None]
    shapes += [("Retry", reading.RETRY), ("Catch", reading.CATCH), *called]
    return _sections(shapes, "definition", chinese=chinese)


def _kinds(tagged: Tagged, *, chinese: bool) -> Iterable[tuple[str, Shape]]:
    """Yield the fields that most kinds have, and then the further fields of each kind."""
    fields = [each for shape in tagged.shapes.values() for each in shape if each.help[0]]
    count = Counter(each.name for each in fields)
    usual = {each.name: each for each in fields if count[each.name] > len(tagged.shapes) // 2}
    yield ("most kinds", "通用字段")[chinese], Shape("", usual.values())
    for name, shape in tagged.shapes.items():
        own = [each for each in shape if each.help[0] and each.name not in usual and not each.name.endswith(".$")]
        if own:
            yield name, Shape("", own)


def _sections(shapes: Iterable[tuple[str, Shape]], form: str, *, chinese: bool) -> str:
    tables = (f"### {title}\n\n{markdown_table(shape, form, chinese=chinese)}" for title, shape in shapes)
    return "\n" + "\n".join(tables) + "\n"


_RESOURCES = ("queue", "topic", "subscription", "flow", "schedule", "bucket", "role")


def usage_items(*, chinese: bool) -> str:
    """Return the table of metered items, with the source of each rule and the parts that are guesses."""
    from emulator.usage.items import ITEMS

    head = ("计量项", "单位", "规则", "来源", "假定") if chinese else ("item", "unit", "rule", "source", "assumed")
    rows = [
        (
            *(f"`{item.name}`", item.unit[chinese], _cell(item.help[chinese])),
            *(item.source[chinese], _cell(item.assumed[chinese])),
        )
        for item in ITEMS
    ]
    return "".join(f"| {' | '.join(cells)} |\n" for cells in (head, ("---",) * len(head), *rows))


def price_rows(*, chinese: bool) -> str:
    """Return the table of the fields of a line in a price list."""
    from emulator.usage.prices import PRICE

    return _rows_of(PRICE, chinese=chinese)


def tier_rows(*, chinese: bool) -> str:
    """Return the table of the fields of a tier."""
    from emulator.usage.prices import TIER

    return _rows_of(TIER, chinese=chinese)


def _cell(text: str) -> str:
    """Return a sentence as a cell of a table, in Chinese without its full stop."""
    return text.removesuffix("。")


def _rows_of(shape: Shape, *, chinese: bool) -> str:
    head = ("键", "必填", "说明") if chinese else ("key", "required", "what it is")
    yes = "是" if chinese else "yes"
    rows = [(f"`{each.name}`", yes if each.required else "", _cell(each.help[chinese])) for each in shape]
    return "".join(f"| {' | '.join(cells)} |\n" for cells in (head, ("---",) * len(head), *rows))


def suites(say: Say) -> str:
    """Return the table of the SDK makers' test suites."""
    from tests.suites import figures  # requires the packages of the tests, which other tables do not need

    return figures.markdown(say)


TABLES: dict[str, Callable[[], str]] = {
    **{f"attributes: {name}": attributes(name, chinese=False) for name in _RESOURCES},
    **{f"attributes: zh {name}": attributes(name, chinese=True) for name in _RESOURCES},
    **{
        f"fields: {'zh ' if chinese else ''}{name}": partial(rendered, chinese=chinese)
        for name, rendered in (
            ("functions", function_fields),
            ("components", component_fields),
            ("flows", flow_fields),
            ("machines", machine_fields),
        )
        for chinese in (False, True)
    },
    "admin API": admin_api,
    "dependencies": dependencies,
    "extras": extras,
    "limits": limits,
    "suites": partial(suites, english),
    "suites: zh": partial(suites, in_chinese),
    "test kit": kit.kit,
    "test kit: zh": partial(kit.kit, in_chinese),
    **{
        f"usage: {'zh ' * chinese}{table}": partial(made, chinese=chinese)
        for chinese in (False, True)
        for table, made in (("items", usage_items), ("prices", price_rows), ("tiers", tier_rows))
    },
    "vendored files": vendored,
    **operations.TABLES,
}


if __name__ == "__main__":
    for page in PAGES:
        page.write_text(rewritten(page.read_text(encoding="utf-8")), encoding="utf-8")
