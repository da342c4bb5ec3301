"""The pages agree with the program."""

import re
from pathlib import Path

import pytest

from emulator.cli.parser import build
from emulator.config import OPTIONS, RESOURCE_KEYS

ROOT = Path(__file__).parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "sample-apps").rglob("*.md")])


def page(name):
    return (ROOT / "docs" / name).read_text(encoding="utf-8")


def parsers(parser):
    """Yield the parser and those of all its commands."""
    yield parser
    for action in parser._actions:
        if isinstance(action.choices, dict):
            for child in action.choices.values():
                yield from parsers(child)


def test_every_option_of_the_command_line_is_documented():
    """docs/commands.md names each flag of each command."""
    flags = {text for parser in parsers(build()) for action in parser._actions for text in action.option_strings}

    missing = {flag for flag in flags if not re.search(rf"(?<![\w-]){re.escape(flag)}(?![\w-])", page("commands.md"))}

    assert not missing


def test_every_setting_is_documented_with_its_flag():
    """docs/configuration.md has one row for each option, and no row for anything else."""
    rows = re.findall(r"^\| `(\w+)` \| (?:none|`(--[\w-]+)`)", page("configuration.md"), re.MULTILINE)

    documented = dict(rows)
    expected = {option.name: option.flag if option.has_flag else "" for option in OPTIONS}
    assert documented == expected


def test_every_documented_key_exists():
    """The example file and the reserved keys are keys the program knows."""
    text = page("configuration.md")
    example = re.search(r"```yaml\n(port:.*?)```", text, re.DOTALL).group(1)
    keys = set(re.findall(r"^(\w+):", example, re.MULTILINE))
    reserved = set(re.findall(r"`(\w+)`", re.search(r"The keys (.*?) are reserved", text, re.DOTALL).group(1)))

    declared = set(
        re.findall(r"^(\w+):", re.search(r"```yaml\n(queues:.*?)```", text, re.DOTALL).group(1), re.MULTILINE)
    )
    assert keys <= {option.name for option in OPTIONS}
    assert reserved | declared == set(RESOURCE_KEYS)
    assert not reserved & declared


def test_declared_attributes_are_those_that_are_read():
    """The table of docs/configuration.md names the attributes of queues, topics and subscriptions."""
    from emulator.services.mns.queues.model import QUEUE
    from emulator.services.mns.topics.model import SUBSCRIPTION, TOPIC

    rows = dict(re.findall(r"^\| a (queue|topic|subscription) \| (.*) \|$", page("configuration.md"), re.MULTILINE))
    documented = {name: set(re.findall(r"`([A-Z]\w+|subscriptions)`", text)) for name, text in rows.items()}

    assert documented == {
        "queue": {each.name for each in QUEUE.of_form("file")},
        "topic": {each.name for each in TOPIC.of_form("file")} | {"subscriptions"},
        "subscription": {each.name for each in SUBSCRIPTION.of_form("file")},
    }


def test_every_documented_variable_exists():
    """No page names a LOCALYUN_ variable that nothing reads."""
    known = {option.variable for option in OPTIONS} | {"LOCALYUN_ENDPOINT", "LOCALYUN_PROXY_URL", "LOCALYUN_TOKEN"}

    for path in PAGES:
        named = set(re.findall(r"LOCALYUN_[A-Z_]+[A-Z]", path.read_text(encoding="utf-8")))
        assert named <= known, path


def test_every_path_of_the_tree_exists():
    """The tree in docs/architecture.md shows what is there."""
    tree = re.search(r"```\n(emulator/\n.*?)```", page("architecture.md"), re.DOTALL).group(1)
    folders = []
    for line in tree.splitlines():
        indent = (len(line) - len(line.lstrip())) // 2
        folders = [*folders[:indent], line.split()[0]]
        assert (ROOT / "".join(folders)).exists(), "".join(folders)


@pytest.mark.parametrize("path", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_between_pages_lead_somewhere(path):
    """Relative links name files that exist."""
    for target in re.findall(r"\]\((?!https?:)([^)#]+)", path.read_text(encoding="utf-8")):
        assert (path.parent / target).exists(), target


def table_rows(section):
    """Return the cells of each table row that starts with an operation, below a heading of docs/fidelity.md."""
    text = page("fidelity.md").split(f"## {section}\n")[1].split("\n## ")[0]
    return [
        [cell.strip(" `") for cell in line.strip("|").split("|")] for line in text.splitlines() if line[:3] == "| `"
    ]


def test_fidelity_lists_every_operation_of_function_compute():
    """Served and refused operations of each API version are those of the routing tables."""
    from emulator.services.fc.front import ROUTES

    routed = {(operation.name, version, "served") for version, routes in ROUTES.items() for operation in routes}

    listed = {
        (operation, version, status)
        for operation, versions, status, _ in table_rows("Function Compute")
        for version in versions.split(", ")
    }

    assert listed == routed


@pytest.mark.parametrize("section", ["Serverless Workflow", "Security Token Service"])
def test_fidelity_lists_every_operation_of_an_rpc_service(section):
    """What is listed as served exists, and everything that exists is listed."""
    from emulator.kernel.ids import CountingIds
    from emulator.services.sts.front import StsFront
    from emulator.services.workflow.front import WorkflowFront

    front = {"Serverless Workflow": WorkflowFront, "Security Token Service": StsFront}[section]
    existing = {operation.name for operation in front(None, CountingIds()).operations}
    rows = table_rows(section)

    assert {operation for operation, status, _ in rows if status == "served"} <= existing
    assert existing <= {operation for operation, _, _ in rows}
    assert {status for _, status, _ in rows} <= {"served", "refused"}


def test_fidelity_lists_every_operation_of_resource_access_management():
    """What is listed as served is what exists."""
    from emulator.kernel.ids import CountingIds
    from emulator.services.ram.front import RamFront

    existing = {operation.name for operation in RamFront(None, CountingIds()).operations}

    assert {operation for operation, _, _ in table_rows("Resource Access Management")} == existing


def test_fidelity_lists_every_operation_of_the_message_service():
    """What is listed as served is what is routed."""
    from emulator.services.mns.front import ROUTES

    tables = {operation.name for operation in ROUTES}
    listed = {operation for operation, status, _ in table_rows("Message Service") if status == "served"}

    assert listed == tables
