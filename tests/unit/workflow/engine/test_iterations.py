"""What is kept of iterations: linear in the items, whatever the input they share."""

import json
from itertools import pairwise

NAPPING = """
version: v1
type: flow
steps:
  - type: foreach
    name: each
    iterationMapping: {collection: $.items, item: item, index: i}
    steps:
      - {type: wait, name: nap, duration: 10, inputMappings: []}
      - type: pass
        name: take
        inputMappings: [{target: x, source: $input.item}, {target: all, source: "$input.items[0]"}]
        outputMappings: [{target: x, source: $input.x}, {target: first, source: $input.all}]
    outputMappings: [{target: xs, source: "$local[*].x"}, {target: firsts, source: "$local[*].first"}]
"""

TAKING = """
version: v1
type: flow
steps:
  - type: foreach
    name: each
    iterationMapping: {collection: $.items, item: item}
    steps: [{type: pass, name: p, inputMappings: [], outputMappings: [{target: x, source: $input}]}]
"""


async def test_the_input_iterations_share_is_kept_once_and_shown_with_each(workflow):
    """Else a history grows with the square of the items."""
    given = {"items": ["text " * 20] * 100, "é": {"b": 1.0, "a": [None]}}

    async with workflow() as bench:
        await bench.flow(NAPPING)
        await bench.begin(given)

        details = [event.detail for event in bench.kept() if event.type == "IterationEntered"]
        events = await bench.events()

    assert sum(len(detail) for detail in details) < 2 * len(json.dumps(given))
    entered = [event["EventDetail"] for event in events if event["Type"] == "IterationEntered"]
    shared = {"items": given["items"], "é": {"a": [None], "b": 1.0}}
    assert entered == [
        json.dumps({"index": i, "input": {"i": i, "item": item, **shared}}, separators=(",", ":"), ensure_ascii=False)
        for i, item in enumerate(given["items"])
    ]


async def test_an_element_under_the_name_of_another_member_hides_it_in_the_history_too(workflow):
    """What is the iteration's own wins over what is shared."""
    async with workflow() as bench:
        await bench.flow(TAKING)
        await bench.begin({"items": [7], "item": "shared"})

        page = await bench.call("GetExecutionHistory", FlowName="f", ExecutionName="e", NextToken=4, Limit=1)

    assert page["Events"][0]["EventDetail"] == '{"index":0,"input":{"item":7,"items":[7]}}'


async def test_iterations_kept_in_full_by_earlier_programs_go_on_and_are_shown(workflow, tmp_path):
    """The state folder of an earlier program is taken up where it was."""
    async with workflow(tmp_path / "state.db") as bench:
        await bench.flow(NAPPING)
        await bench.begin({"items": [1, 2]})
        before = await bench.events()
        whole = {event["EventId"]: event["EventDetail"] for event in before if event["Type"] == "IterationEntered"}
        bench.rewrite(lambda event: event._replace(detail=whole[event.id], mark=None) if event.id in whole else event)
        bench.database.write("UPDATE workflow_executions SET snapshot = NULL")
        await bench.crash()
        await bench.start()
        after = await bench.events()

        await bench.advance(10)

        assert json.loads((await bench.describe())["Output"]) == {"xs": [1, 2], "firsts": [1, 1]}
    assert after == before


async def test_iterations_go_on_after_a_crash(workflow, tmp_path):
    """Their input is found again in what the foreach was given, from the history alone as well as from a snapshot."""

    async def outcome(folder, *, snapshot):
        folder.mkdir()
        async with workflow(folder / "state.db") as bench:
            await bench.flow(NAPPING)
            await bench.begin({"items": list(range(150))})
            if not snapshot:
                bench.database.write("UPDATE workflow_executions SET snapshot = NULL")
            await bench.crash()
            await bench.start()
            await bench.advance(20)
            return json.loads((await bench.describe())["Output"])

    expected = {"xs": list(range(150)), "firsts": [0] * 150}

    assert await outcome(tmp_path / "with", snapshot=True) == expected
    assert await outcome(tmp_path / "without", snapshot=False) == expected


async def test_a_snapshot_follows_when_more_text_has_come_than_the_last_one_had(workflow):
    """The input and the results so far are not written again and again."""
    written = []

    async with workflow() as bench:
        write = bench.service._engine._store.write

        def noting(changes):
            written.extend((made.last_event, len(made.snapshot)) for made in changes.progress if made.snapshot)
            return write(changes)

        bench.service._engine._store.write = noting
        await bench.flow(TAKING)
        await bench.begin({"items": [number % 10 for number in range(830)], "shared": "x" * 21_000})

        assert (await bench.describe())["Status"] == "Succeeded"
        assert len(written) > 1
        for (event, size), (later, _) in pairwise(written):
            since = [each for each in bench.kept(start=event + 1) if each.id <= later]
            assert sum(len(each.detail) for each in since) >= size
