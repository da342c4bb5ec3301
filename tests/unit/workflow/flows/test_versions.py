"""Flow versions and aliases on the wire, and the executions started through them."""

import json

import pytest

from benchmarks.big_state import copy_rows
from emulator.kernel.clock import Millis
from emulator.services.workflow.model import AliasRecord, Route
from tests.sqlite_steps import counted_steps

ALIAS = {"FlowName": "f", "Name": "a"}


def definition(word):
    return (
        "version: v1\ntype: flow\nsteps:\n"
        f"  - {{type: pass, name: p, outputMappings: [{{target: word, source: {word}}}]}}\n"
    )


def routes(*pairs):
    return json.dumps([{"Version": version, "Weight": weight} for version, weight in pairs])


async def two_versions(bench):
    """A flow of three words: versions 1 (one) and 2 (two), and what comes after them (three)."""
    await bench.flow(definition("one"))
    for word in ("two", "three"):
        await bench.call("PublishFlowVersion", FlowName="f", Description=f"before {word}")
        await bench.advance(1)
        await bench.call("UpdateFlow", Name="f", Definition=definition(word), RoleArn=f"role-{word}")


async def word_of(bench, qualifier, name=None):
    named = {"ExecutionName": name} if name else {}
    started = await bench.call("StartExecution", FlowName="f", Qualifier=qualifier, **named)
    assert "Code" not in started, started
    await bench.settle()
    return json.loads((await bench.describe(started["Name"]))["Output"])["word"]


async def test_versions_count_up_and_are_never_given_twice(workflow):
    """Newest first in the list, by pages; a number that has been deleted does not come back."""
    async with workflow() as bench:
        await two_versions(bench)
        third = await bench.call("PublishFlowVersion", FlowName="f")
        deleted = await bench.call("DeleteFlowVersion", FlowName="f", FlowVersion="3")
        fourth = await bench.call("PublishFlowVersion", FlowName="f", Description="d")
        first_page = await bench.call("ListFlowVersions", FlowName="f", Limit="2")
        last_page = await bench.call("ListFlowVersions", FlowName="f", NextToken=first_page["NextToken"])

        assert (third["Version"], third["Description"], list(deleted)) == ("3", "", ["RequestId"])
        del fourth["RequestId"]
        assert fourth == {
            "FlowName": "f",
            "Version": "4",
            "Description": "d",
            "CreatedTime": "2023-11-15T06:13:22+08:00",
        }
        assert [each["Version"] for each in first_page["FlowVersions"]] == ["4", "2"]
        assert last_page["FlowVersions"] == [
            {"Version": "1", "Description": "before two", "CreatedTime": "2023-11-15T06:13:20+08:00"}
        ]
        assert "NextToken" not in last_page


async def test_a_version_is_the_flow_as_it_was(workflow):
    """Definition, role and instants; LATEST is the flow itself."""
    async with workflow() as bench:
        await two_versions(bench)

        told = [
            (flow["Definition"], flow["RoleArn"], flow["LastModifiedTime"])
            for version in ("1", "2", "LATEST", "")
            for flow in [await bench.call("DescribeFlow", Name="f", FlowVersion=version)]
        ]

        latest = (definition("three"), "role-three", "2023-11-14T22:13:22.000Z")
        assert told == [
            (definition("one"), "", "2023-11-14T22:13:20.000Z"),
            (definition("two"), "role-two", "2023-11-14T22:13:21.000Z"),
            latest,
            latest,
        ]


async def test_an_execution_runs_the_version_it_is_started_for(workflow):
    """By number, by alias, or without either."""
    async with workflow() as bench:
        await two_versions(bench)
        await bench.call("CreateFlowAlias", **ALIAS, RoutingConfigurations=routes(("2", 100)))

        assert [await word_of(bench, qualifier) for qualifier in ("1", "a", "", "LATEST")] == [
            "one",
            "two",
            "three",
            "three",
        ]


async def test_executions_are_listed_by_what_they_ran(workflow):
    """A version lists what ran it, whichever way it was asked for; an alias what was started through it."""
    async with workflow() as bench:
        await two_versions(bench)
        await bench.call("CreateFlowAlias", **ALIAS, RoutingConfigurations=routes(("1", 100)))
        for name, qualifier in (("by-number", "1"), ("by-alias", "a"), ("second", "2"), ("plain", "")):
            await word_of(bench, qualifier, name)

        listed = {
            qualifier: sorted(
                each["Name"]
                for each in (await bench.call("ListExecutions", FlowName="f", Qualifier=qualifier))["Executions"]
            )
            for qualifier in ("1", "a", "2", "")
        }

        assert listed == {
            "1": ["by-alias", "by-number"],
            "a": ["by-alias"],
            "2": ["second"],
            "": ["by-alias", "by-number", "plain", "second"],
        }


async def test_a_running_execution_keeps_its_version_when_that_is_deleted(workflow, tmp_path):
    """Also over a restart."""
    async with workflow(tmp_path / "state.db") as bench:
        steps = definition("one").replace("steps:\n", "steps:\n  - {type: wait, name: w, duration: 60}\n")
        await bench.flow(steps)
        await bench.call("PublishFlowVersion", FlowName="f")
        await bench.call("UpdateFlow", Name="f", Definition=definition("two"))
        await bench.call("StartExecution", FlowName="f", ExecutionName="e", Qualifier="1")
        await bench.settle()
        await bench.call("DeleteFlowVersion", FlowName="f", FlowVersion="1")
        await bench.restart()

        await bench.advance(60)

        described = await bench.describe()
        assert (described["Output"], described["FlowDefinition"]) == ('{"word":"one"}', steps)


async def test_the_shapes_of_alias_replies(workflow):
    """Flat when made, nested when changed or described, weights as text in the list."""
    async with workflow() as bench:
        await two_versions(bench)
        made = await bench.call(
            "CreateFlowAlias", **ALIAS, RoutingConfigurations=routes(("1", 20), ("2", 30)), Description="d"
        )
        changed = await bench.call("UpdateFlowAlias", **ALIAS, RoutingConfigurations=routes(("2", "7")))
        described = await bench.call("DescribeFlowAlias", **ALIAS)
        listed = await bench.call("ListFlowAliases", FlowName="f")
        deleted = await bench.call("DeleteFlowAlias", **ALIAS)

        for reply in (made, changed, described, listed, deleted):
            assert reply.pop("RequestId")
        one = {"Name": "a", "Description": "d", "CreatedTime": "2023-11-15T06:13:22+08:00"}
        both = [{"Version": "1", "Weight": 20}, {"Version": "2", "Weight": 30}]
        assert made == {"FlowName": "f", **one, "RoutingConfigurations": both}
        assert changed == described == {"Alias": {**one, "RoutingConfigurations": [{"Version": "2", "Weight": 7}]}}
        assert listed == {"Aliases": [{**one, "RoutingConfigurations": [{"Version": "2", "Weight": "7"}]}]}
        assert deleted == {}
        assert (await bench.call("ListFlowAliases", FlowName="f"))["Aliases"] == []


async def test_aliases_are_listed_by_name_in_pages(workflow):
    """NextToken is the next name."""
    async with workflow() as bench:
        await two_versions(bench)
        for name in ("c", "a", "b"):
            await bench.call("CreateFlowAlias", FlowName="f", Name=name, RoutingConfigurations=routes(("1", 100)))

        first = await bench.call("ListFlowAliases", FlowName="f", Limit=2)
        last = await bench.call("ListFlowAliases", FlowName="f", Limit=2, NextToken=first["NextToken"])

        assert [each["Name"] for each in first["Aliases"]] == ["a", "b"]
        assert [each["Name"] for each in last["Aliases"]] == ["c"]
        assert "NextToken" not in last


@pytest.mark.parametrize(
    ("weights", "expected"),
    [((20, 30), [1, 1, 2, 2]), ((100, 0), [1, 1, 1, 1]), ((0, 5), [2, 2, 2, 2]), ((1, 1), [1, 1, 2, 2])],
)
def test_the_draw_falls_by_weight(weights, expected):
    """Weights count against each other, whatever their sum; weight 0 is never drawn."""
    alias = AliasRecord(name="a", description="", created_at=Millis(0), routes=tuple(map(Route, (1, 2), weights)))

    assert [alias.draw(fraction) for fraction in (0.0, 0.39, 0.5, 0.999)] == expected


@pytest.mark.parametrize(
    ("action", "parameters", "status", "code"),
    [
        ("PublishFlowVersion", {"FlowName": "x"}, 404, "FlowNotExists"),
        ("PublishFlowVersion", {"FlowName": None}, 400, "MissingRequiredParams"),
        ("DescribeFlow", {"Name": "f", "FlowVersion": "9"}, 404, "FlowVersionNotExists"),
        ("DescribeFlow", {"Name": "f", "FlowVersion": "there"}, 404, "FlowVersionNotExists"),
        ("DeleteFlowVersion", {}, 400, "MissingRequiredParams"),
        ("DeleteFlowVersion", {"FlowVersion": "9"}, 404, "FlowVersionNotExists"),
        ("DeleteFlowVersion", {"FlowVersion": "01"}, 404, "FlowVersionNotExists"),
        ("DeleteFlowVersion", {"FlowVersion": "1"}, 400, "InvalidArgument"),
        ("ListFlowVersions", {"Limit": "0"}, 400, "InvalidArgument"),
        ("ListFlowVersions", {"NextToken": "x"}, 400, "InvalidArgument"),
        ("CreateFlowAlias", {"Name": "n"}, 400, "MissingRequiredParams"),
        ("CreateFlowAlias", {"Name": "1", "RoutingConfigurations": routes(("1", 1))}, 400, "InvalidArgument"),
        ("CreateFlowAlias", {"Name": "LATEST", "RoutingConfigurations": routes(("1", 1))}, 400, "InvalidArgument"),
        ("CreateFlowAlias", {"Name": "there", "RoutingConfigurations": routes(("1", 1))}, 409,
         "FlowAliasAlreadyExists"),
        ("CreateFlowAlias", {"Name": "n", "RoutingConfigurations": routes(("9", 1))}, 404, "FlowVersionNotExists"),
        ("CreateFlowAlias", {"Name": "n", "RoutingConfigurations": "{"}, 400, "InvalidArgument"),
        ("CreateFlowAlias", {"Name": "n", "RoutingConfigurations": "[]"}, 400, "InvalidArgument"),
        ("CreateFlowAlias", {"Name": "n", "RoutingConfigurations": "[1]"}, 400, "InvalidArgument"),
        ("CreateFlowAlias", {"Name": "n", "RoutingConfigurations": routes(("1", 0))}, 400, "InvalidArgument"),
        ("CreateFlowAlias", {"Name": "n", "RoutingConfigurations": routes(("1", 101))}, 400, "InvalidArgument"),
        ("CreateFlowAlias", {"Name": "n", "RoutingConfigurations": routes(("1", -1))}, 400, "InvalidArgument"),
        ("CreateFlowAlias", {"Name": "n", "RoutingConfigurations": routes(("1", 1), ("1", 1))}, 400,
         "InvalidArgument"),
        ("CreateFlowAlias", {"Name": "n", "RoutingConfigurations": routes(("1", 1), ("2", 1), ("1", 1))}, 400,
         "InvalidArgument"),
        ("UpdateFlowAlias", {"Name": "n"}, 404, "FlowAliasNotExists"),
        ("UpdateFlowAlias", {"Name": "there", "RoutingConfigurations": routes(("9", 1))}, 404,
         "FlowVersionNotExists"),
        ("DescribeFlowAlias", {"Name": "n"}, 404, "FlowAliasNotExists"),
        ("DeleteFlowAlias", {"Name": "n"}, 404, "FlowAliasNotExists"),
        ("ListFlowAliases", {"FlowName": "x"}, 404, "FlowNotExists"),
        ("StartExecution", {"Qualifier": "9"}, 404, "FlowVersionNotExists"),
        ("StartExecution", {"Qualifier": "n"}, 404, "FlowAliasNotExists"),
    ],
)  # fmt: skip
async def test_a_bad_request_has_its_error(workflow, action, parameters, status, code):
    """Versions and aliases stay as they were."""
    async with workflow() as bench:
        await two_versions(bench)
        await bench.call("CreateFlowAlias", FlowName="f", Name="there", RoutingConfigurations=routes(("1", 1)))

        given = {"FlowName": "f", **parameters}
        reply = await bench.call(action, **{name: value for name, value in given.items() if value is not None})

        assert (reply["HTTP"], reply["Code"]) == (status, code)
        versions = (await bench.call("ListFlowVersions", FlowName="f"))["FlowVersions"]
        aliases = (await bench.call("ListFlowAliases", FlowName="f"))["Aliases"]
        assert [each["Version"] for each in versions] == ["2", "1"]
        assert [each["Name"] for each in aliases] == ["there"]


async def test_versions_and_aliases_go_with_their_flow(workflow):
    """A new flow of the same name begins at version 1 and has no alias."""
    async with workflow() as bench:
        await two_versions(bench)
        await bench.call("CreateFlowAlias", **ALIAS, RoutingConfigurations=routes(("1", 1)))
        await bench.call("DeleteFlow", Name="f")
        await bench.flow(definition("new"))

        assert (await bench.call("ListFlowVersions", FlowName="f"))["FlowVersions"] == []
        assert (await bench.call("DescribeFlowAlias", **ALIAS))["Code"] == "FlowAliasNotExists"
        assert (await bench.call("PublishFlowVersion", FlowName="f"))["Version"] == "1"


async def test_a_version_is_deleted_without_a_look_at_aliases_of_others(workflow):
    """SQLite takes as many steps beside 300 aliases as beside 30; either version of an alias counts."""
    async with workflow() as bench:
        await two_versions(bench)
        await bench.call("PublishFlowVersion", FlowName="f")
        await bench.call("CreateFlowAlias", RoutingConfigurations=routes(("1", 60), ("2", 40)), **ALIAS)
        spent = []
        for number, version in ((30, "3"), (270, "4")):
            copy_rows(
                bench.database._connection,
                "workflow_aliases",
                number,
                {"name": f"name || '{number}.' || n"},
                "name = 'a'",
            )
            await bench.call("PublishFlowVersion", FlowName="f")
            with counted_steps(bench.database) as steps:
                deleted = await bench.call("DeleteFlowVersion", FlowName="f", FlowVersion=version)
            assert "Code" not in deleted
            spent += steps

        refused = [await bench.call("DeleteFlowVersion", FlowName="f", FlowVersion=each) for each in ("1", "2")]

        assert spent[1] <= spent[0] * 1.1, spent
        assert all("Code" in each for each in refused)
