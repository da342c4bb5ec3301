"""Small random applications, and a model of them that knows every outcome."""

import random


def _with(rows, at, item):
    return tuple((*row, item) if number == at else row for number, row in enumerate(rows))


class Small:
    """A random application: messages that are pushed to sinks, and a flow whose branches call functions.

    ``pushes`` are pairs of body and sink, ``branches`` the function that each calls.
    """

    def __init__(self, seed):
        draw = random.Random(seed)
        self.sinks = draw.randint(1, 2)
        self.bodies = [f"m{number}" for number in range(draw.randint(0, 3 if self.sinks == 1 else 2))]
        self.branches = [
            draw.choice("fg") for _ in range(draw.choice([0, 2, 2, 3] if len(self.bodies) < 2 else [0, 2]))
        ]

    def outcomes(self):
        """Return every outcome: what each sink got, what each function was called with, which replies came first."""
        pushes = [(body, sink) for body in self.bodies for sink in range(self.sinks)]
        start = (frozenset(range(len(pushes))), frozenset(range(len(self.branches))), frozenset())
        empty = (tuple(() for _ in range(self.sinks)), ((), ()), ())
        found, seen, left = set(), set(), [(start, empty)]
        while left:
            state = left.pop()
            if state in seen:
                continue
            seen.add(state)
            (waiting, calls, replies), (sinks, functions, ended) = state
            if not waiting and not calls and not replies:
                found.add((sinks, functions, ended))
            left += (
                ((waiting - {each}, calls, replies), (_with(sinks, pushes[each][1], pushes[each][0]), functions, ended))
                for each in waiting
            )
            left += (
                (
                    (waiting, calls - {each}, replies | {each}),
                    (sinks, _with(functions, "fg".index(self.branches[each]), each), ended),
                )
                for each in calls
            )
            left += (((waiting, calls, replies - {each}), (sinks, functions, (*ended, each))) for each in replies)
        return found

    def definition(self):
        branches = "".join(
            f"\n      - steps:\n          - type: task\n            name: s{number}\n"
            f"            resourceArn: 'acs:fc:::services/x/functions/{function}'\n"
            f"            inputMappings: [{{target: n, source: {number}}}]"
            for number, function in enumerate(self.branches)
        )
        return f"version: v1\ntype: flow\nsteps:\n  - type: parallel\n    name: all\n    branches:{branches}\n"

    def prepare(self, localyun):
        self.topic = localyun.topic("t")
        self.got = [localyun.sink([{"status": 200}]) for _ in range(self.sinks)]
        for number, sink in enumerate(self.got):
            self.topic.subscribe(sink.url, name=f"s{number}", content_format="SIMPLIFIED")
        self.mocks = [localyun.mock(f"x/{name}", returns={}) for name in "fg"]
        self.flow = localyun.flow("all", self.definition()) if self.branches else None

    def run(self, localyun):
        """Return the outcome of a run."""
        execution = self.flow.start({}) if self.flow is not None else None
        for body in self.bodies:
            self.topic.publish(body)
        localyun.settle("60s")
        ended = ()
        if execution is not None:
            done = [each["StepName"] for each in execution.history if each["Type"] == "TaskSucceeded"]
            ended = tuple(int(name[1:]) for name in done)
        called = tuple(tuple(int(call.event["n"]) for call in mock.calls) for mock in self.mocks)
        return tuple(tuple(each.body for each in sink.requests) for sink in self.got), called, ended
