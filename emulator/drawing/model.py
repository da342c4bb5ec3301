"""The graph of a flow: steps as nodes, the ways between them as edges, step lists inside steps as scopes of their own.

Every scope has a node `START`, and a node `END` if it can be left without failing. Two ways from one step to the same
other step are one edge with both labels.
"""

from collections.abc import Iterator, Mapping
from typing import Final, Literal

from emulator.kernel.frozen import frozen, replace
from emulator.services.workflow.engine.model import Definition, RetryPolicy, Step, StepList
from emulator.services.workflow.engine.outline import StepKind

Kind = Literal["start", "end", StepKind]

START: Final = "^"
END: Final = "$"
"""Names of the two ends of a scope, which no step can have."""


@frozen
class Edge:
    """A way from one node to another of the same scope.

    ``labels`` are conditions or error names. ``option`` is the scope of the source it leaves from, None when it leaves
    the node as a whole. ``caught``: the edge is taken on an error.
    """

    source: str
    target: str
    labels: tuple[str, ...] = ()
    option: int | None = None
    caught: bool = False


@frozen
class Scope:
    """A list of steps: ``nodes`` in the order of the definition, between `START` and `END`; ``label`` says which."""

    label: str
    nodes: tuple["Node", ...]
    edges: tuple[Edge, ...]

    @property
    def finishes(self) -> bool:
        """Whether the scope can be left without failing."""
        return any(edge.target == END for edge in self.edges)


@frozen
class Node:
    """A step. ``about`` is what it calls, waits for or fails with; ``retry`` is a badge, ``retries`` are its rules.

    ``retry_limit`` is how often a failed task is called again at most.

    ``scopes`` are the branches of a parallel, the body of a foreach, or the options of a choice that has nested steps.
    """

    name: str
    kind: Kind
    about: str = ""
    retry: str = ""
    retries: tuple[RetryPolicy, ...] = ()
    retry_limit: int = 0
    scopes: tuple[Scope, ...] = ()


def build(flow: Definition) -> Scope:
    """Return the graph of a flow of any language."""
    return _scope(flow.steps, "")


def with_badges(scope: Scope, badges: Mapping[str, str]) -> Scope:
    """Return *scope* with other badges for the steps named in *badges*."""
    nodes = tuple(
        replace(
            node,
            retry=badges.get(node.name, node.retry),
            scopes=tuple(with_badges(inner, badges) for inner in node.scopes),
        )
        for node in scope.nodes
    )
    return replace(scope, nodes=nodes)


def steps_of(scope: Scope) -> Iterator[Node]:
    """Yield every step in all depths, without the ends of scopes."""
    for node in scope.nodes:
        if node.kind not in {"start", "end"}:
            yield node
        for inner in node.scopes:
            yield from steps_of(inner)


def _scope(steps: StepList, label: str) -> Scope:
    nodes = [_node(step) for step in steps.steps]
    ways = [Edge(source=START, target=steps.steps[steps.start].name if steps.steps else END)]
    for position, step in enumerate(steps.steps):
        ways.extend(_ways_out(step, nodes[position], steps, position))
    edges = _merged(ways)
    inner = [Node(name=START, kind="start"), *nodes]
    if any(edge.target == END for edge in edges):
        inner.append(Node(name=END, kind="end"))
    return Scope(label=label, nodes=tuple(inner), edges=edges)


def _merged(ways: list[Edge]) -> tuple[Edge, ...]:
    """Join ways that have the same ends."""
    edges: dict[tuple[str, str, int | None, bool], Edge] = {}
    for way in ways:
        key = (way.source, way.target, way.option, way.caught)
        labels = edges[key].labels + way.labels if key in edges else way.labels
        edges[key] = Edge(source=key[0], target=key[1], option=key[2], caught=key[3], labels=labels)
    return tuple(edges.values())


def _ways_out(step: Step, node: Node, steps: StepList, position: int) -> Iterator[Edge]:
    for way in step.ways(steps, position):
        target = END if way.target is None else way.target
        if way.caught is not None:
            yield Edge(source=step.name, target=target, labels=(way.label,), caught=True)
        elif way.option is None:
            if all(scope.finishes for scope in node.scopes):
                yield Edge(source=step.name, target=target)
        elif not node.scopes:
            yield Edge(source=step.name, target=target, labels=(way.label,))
        elif node.scopes[way.option].finishes:
            yield Edge(source=step.name, target=target, option=way.option)


def _node(step: Step) -> Node:
    rules, _ = step.policies()
    return Node(
        name=step.name,
        kind=step.kind,
        about=step.about(),
        scopes=tuple(_scope(steps, label) for label, steps in step.parts()),
        retry=f"retry {_limit(rules)}" if rules else "",
        retries=rules,
        retry_limit=_limit(rules) if step.kind == "task" else 0,
    )


def _limit(policies: tuple[RetryPolicy, ...]) -> int:
    return max((policy.max_attempts for policy in policies), default=0)
