"""The graph of a flow: steps as nodes, the ways between them as edges, step lists inside steps as scopes of their own.

Every scope has a node `START`; it has a node `END` when it can be left other than by failing. Two ways from one step to
the same other step are one edge with both labels.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final, Literal

from emulator.kernel.frozen import frozen, replace
from emulator.services.workflow.engine.model import Definition, ParameterError, RetryPolicy, StepList
from emulator.services.workflow.engine.model import Step as AnyStep
from emulator.services.workflow.languages.fdl.nodes import (
    ChoiceStep,
    FailStep,
    ForeachStep,
    Option,
    ParallelStep,
    PassStep,
    Step,
    SucceedStep,
    TaskStep,
    WaitStep,
)
from emulator.services.workflow.languages.fdl.paths import Path
from emulator.services.workflow.languages.statemachine.expressions import Expression, Fixed, Members
from emulator.services.workflow.languages.statemachine.nodes import (
    MODES,
    ChoiceState,
    DistributedMapState,
    FailState,
    Guarded,
    MapState,
    ParallelState,
    PassState,
    State,
    SucceedState,
    TaskState,
    WaitState,
)
from emulator.services.workflow.ports import (
    ActionResource,
    FlowResource,
    FunctionResource,
    HttpResource,
    MapResource,
    ObjectResource,
    QueueResource,
    Resource,
    TopicResource,
)

Kind = Literal["start", "end", "task", "pass", "wait", "choice", "parallel", "foreach", "succeed", "fail"]

START: Final = "^"
END: Final = "$"
"""Names of the two ends of a scope; no step can have them."""

OTHERWISE: Final = "otherwise"
"""What leads on when no option of a choice without default applies."""


@frozen
class Edge:
    """A way from one node to another of the same scope.

    ``labels`` are conditions or error names. ``option`` is the scope of the source it leaves from, None when it leaves
    the node as a whole. ``caught``: it is taken on an error.
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
        """Whether the scope can be left other than by failing."""
        return any(edge.target == END for edge in self.edges)


@frozen
class Node:
    """A step. ``about`` says what it calls, waits for or fails with; ``retry`` is a badge, ``retries`` its long form.

    ``retry_limit`` is how often a failed task is called again at most.

    ``scopes`` are the branches of a parallel, the body of a foreach, or the options of a choice that has nested steps.
    """

    name: str
    kind: Kind
    about: str = ""
    retry: str = ""
    retries: str = ""
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
        following = steps.steps[position + 1].name if position + 1 < len(steps.steps) else END
        if isinstance(step, Step):
            ways.extend(_ways_out(step, nodes[position], END if step.end else following))
        elif isinstance(step, State):
            ways.extend(_ways_of_state(step, nodes[position]))
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


def _ways_out(step: Step, node: Node, following: str) -> Iterator[Edge]:
    match step:
        case FailStep():
            return
        case SucceedStep():
            yield Edge(source=step.name, target=END)
        case ChoiceStep():
            yield from _choice_ways(step, node, following)
        case TaskStep():
            yield Edge(source=step.name, target=following)
            for policy in step.catch:
                yield Edge(source=step.name, target=policy.goto, labels=(", ".join(policy.errors),), caught=True)
        case _:
            if not node.scopes or all(scope.finishes for scope in node.scopes):
                yield Edge(source=step.name, target=following)


def _choice_ways(step: ChoiceStep, node: Node, following: str) -> Iterator[Edge]:
    for index, (label, option) in enumerate(_options(step)):
        target = option.goto or following
        if not node.scopes:
            yield Edge(source=step.name, target=target, labels=(label,))
        elif node.scopes[index].finishes:
            yield Edge(source=step.name, target=target, option=index)


def _options(step: ChoiceStep) -> list[tuple[str, Option]]:
    options = [(option.condition.text if option.condition else "", option) for option in step.options]
    return [*options, (OTHERWISE, Option()) if step.default is None else ("default", step.default)]


def _ways_of_state(state: State, node: Node) -> Iterator[Edge]:
    name = state.name
    if isinstance(state, FailState):
        return
    if isinstance(state, ChoiceState):
        for branch in state.branches:
            yield Edge(source=name, target=branch.next, labels=(branch.condition.text,))
        yield Edge(source=name, target=state.default, labels=("default",))
        return
    if not isinstance(state, ParallelState | MapState | DistributedMapState) or all(
        scope.finishes for scope in node.scopes
    ):
        yield Edge(source=name, target=END if state.next is None else state.next)
    for rule in state.catch if isinstance(state, Guarded) else ():
        yield Edge(source=name, target=rule.goto, labels=(", ".join(rule.errors),), caught=True)


_KINDS: Final[dict[type[AnyStep], Kind]] = {
    TaskStep: "task", TaskState: "task",
    PassStep: "pass", PassState: "pass",
    WaitStep: "wait", WaitState: "wait",
    ChoiceStep: "choice", ChoiceState: "choice",
    ParallelStep: "parallel", ParallelState: "parallel",
    ForeachStep: "foreach", MapState: "foreach", DistributedMapState: "foreach",
    SucceedStep: "succeed", SucceedState: "succeed",
    FailStep: "fail", FailState: "fail",
}  # fmt: skip


def _node(step: AnyStep) -> Node:
    kind = _KINDS[type(step)]
    rules = step.retry if isinstance(step, TaskStep | Guarded) else ()
    return Node(
        name=step.name,
        kind=kind,
        about=_about(step),
        scopes=_scopes(step),
        retry=f"retry {_limit(rules)}" if rules else "",
        retries=_policies(rules),
        retry_limit=_limit(rules) if kind == "task" else 0,
    )


def _scopes(step: AnyStep) -> tuple[Scope, ...]:
    match step:
        case ParallelState() | ParallelStep():
            return tuple(_scope(branch, f"branch {index}") for index, branch in enumerate(step.branches))
        case ForeachStep() | MapState():
            return (_scope(step.steps, "each iteration"),)
        case DistributedMapState():
            return (_scope(step.steps, "each element, as an execution"),)
        case ChoiceStep() if any(option.steps is not None for _, option in _options(step)):
            return tuple(_scope(option.steps or _NOTHING, label) for label, option in _options(step))
        case _:
            return ()


def _about(step: AnyStep) -> str:
    match step:
        case DistributedMapState():
            return ""
        case TaskState():
            return _called(step)
        case TaskStep():
            return _named(step.resource, step.pattern)
        case WaitState():
            return _span(step.seconds)
        case WaitStep():
            return f"until {step.timestamp_text}" if step.duration is None else _span(step.duration)
        case MapState():
            return step.items.text
        case ForeachStep():
            return f"{step.item} in {step.collection.text}"
        case FailState():
            texts = (each.text if isinstance(each, Expression) else each for each in (step.code, step.detail))
            return " ".join(filter(None, texts))
        case FailStep():
            return " ".join(filter(None, (step.error, step.cause)))
        case _:
            return ""


def _called(state: TaskState) -> str:
    """Return what a task calls: the resource where it is written down, else the action."""
    called: dict[str, Any] = {}
    if isinstance(state.arguments, Members):
        called = {name: each.value for name, each in state.arguments.members if isinstance(each, Fixed)}
    elif isinstance(state.arguments, Fixed):
        called = state.arguments.value
    try:
        resource = state.target(called)
    except ParameterError:
        resource = state.action.resource
    return _named(resource, MODES[state.pattern])


_NOTHING = StepList(steps=(), index={})


def _span(duration: int | Path | Expression) -> str:
    return f"{duration} s" if isinstance(duration, int) else duration.text


def _named(resource: Resource, pattern: str) -> str:
    """Return the name of a resource, with how it is called when that is more than a request."""
    name = _resource_name(resource)
    return name if pattern in {"requestResponse", "RequestComplete"} else f"{name}, {pattern}"


def _resource_name(resource: Resource) -> str:
    match resource:
        case FunctionResource():
            behind = f".{resource.qualifier}" if resource.qualifier else ""
            return f"{resource.service}{behind}/{resource.function}" if resource.service else resource.function + behind
        case QueueResource():
            return f"queue {resource.queue}"
        case TopicResource():
            return f"topic {resource.topic}"
        case FlowResource():
            return f"flow {resource.flow}"
        case HttpResource():
            return f"{resource.method} {resource.url}"
        case ObjectResource():
            return f"object {resource.bucket}/{resource.name}"
        case ActionResource():
            return f"{resource.service}:{resource.operation}"
        case MapResource():
            return "a map run"


def _limit(policies: tuple[RetryPolicy, ...]) -> int:
    return max((policy.max_attempts for policy in policies), default=0)


def _policies(policies: tuple[RetryPolicy, ...]) -> str:
    return "; ".join(
        f"{', '.join(policy.errors)}: {policy.max_attempts} retries, first after {policy.interval_s:g} s, "
        f"then x{policy.multiplier:g}"
        for policy in policies
    )
