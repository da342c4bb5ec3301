"""A flow as Mermaid text, for pages that draw it themselves: README files, issues, wikis.

Steps are named ``s1``, ``s2`` ... in the order of the definition, because names such as ``end`` mean something to
Mermaid. Steps nested in a choice are drawn beside it, with the option as the label of the way into them; branches and
bodies are subgraphs.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from emulator.drawing.looks import look
from emulator.drawing.model import END, START, Node, Scope, steps_of
from emulator.drawing.states import COLOURS, State, StepState
from emulator.drawing.words import Say

_CLASSES: dict[State, str] = {"not entered": "notEntered", "caught or retried": "caught"}
"""Names of Mermaid classes that differ from those of their states."""


def render(graph: Scope, title: str, states: Mapping[str, StepState] | None = None, say: Say = str) -> str:
    """Return the text of a flowchart from top to bottom, its words translated by *say*."""
    writer = _Writer(graph, states, say)
    return "\n".join(["---", f"title: {_yaml(title)}", "---", "flowchart TD", *writer.lines(), ""])


class _End(NamedTuple):
    """The beginning of a way that is not yet written: its source and its label so far."""

    name: str
    labels: tuple[str, ...] = ()
    caught: bool = False


class _Writer:
    def __init__(self, graph: Scope, states: Mapping[str, StepState] | None, say: Say) -> None:
        self._graph = graph
        self._say = say
        self._states = states
        self._ids = {node.name: f"s{number}" for number, node in enumerate(steps_of(graph), 1)}

    def lines(self) -> Iterator[str]:
        yield f'  start(["{_escape(self._say("Start"))}"])'
        yield from self._nodes(self._graph, "  ")
        if self._graph.finishes:
            yield f'  finish(["{_escape(self._say("End"))}"])'
        lines: list[str] = []
        out = self._ways(self._graph, [_End("start")], lines)
        yield from lines
        yield from (self._line(end, "finish") for end in out)
        if self._states is not None:
            yield from self._classes(self._states)

    def _nodes(self, scope: Scope, indent: str) -> Iterator[str]:
        for node in scope.nodes:
            if node.kind in {"start", "end"}:
                continue
            name = self._ids[node.name]
            brackets = look(node.kind).brackets
            if brackets is None:
                yield f"{indent}subgraph {name}[{self._words(node)}]"
                for index, inner in enumerate(node.scopes):
                    yield f'{indent}  subgraph {name}b{index}["{_escape(inner.label)}"]'
                    yield from self._nodes(inner, indent + "    ")
                    yield f"{indent}  end"
                yield f"{indent}end"
                continue
            left, right = brackets
            yield f"{indent}{name}{left}{self._words(node)}{right}"
            for inner in node.scopes:
                yield from self._nodes(inner, indent)

    def _words(self, node: Node) -> str:
        parts = [node.name, node.about, node.retry]
        if self._states is not None and node.name in self._states:
            parts.append(self._states[node.name].note(self._say))
        return '"' + "<br/>".join(_escape(part) for part in parts if part) + '"'

    def _ways(self, scope: Scope, entries: Sequence[_End], lines: list[str]) -> list[_End]:
        """Append a line for each way in *scope* to *lines*; return the ways that lead out of it."""
        ends: dict[tuple[str, int | None], list[_End]] = {(START, None): list(entries)}
        for node in scope.nodes:
            if node.kind in {"start", "end"}:
                continue
            name = self._ids[node.name]
            ends[node.name, None] = [_End(name)]
            for index, inner in enumerate(node.scopes):
                first = [_End(name, (inner.label,))] if node.kind == "choice" else []
                ends[node.name, index] = self._ways(inner, first, lines)
        out: list[_End] = []
        for edge in scope.edges:
            for end in ends[edge.source, edge.option]:
                way = _End(end.name, end.labels + edge.labels, end.caught or edge.caught)
                if edge.target == END:
                    out.append(way)
                else:
                    lines.append(self._line(way, self._ids[edge.target]))
        return out

    def _line(self, way: _End, target: str) -> str:
        arrow = "-.->" if way.caught else "-->"
        *others, last = way.labels or ("",)
        words = " ".join([*(self._say("{label} or").format(label=each) for each in others), last])
        label = f'|"{_escape(words)}"|' if any(way.labels) else ""
        return f"  {way.name} {arrow}{label} {target}"

    def _classes(self, states: Mapping[str, StepState]) -> Iterator[str]:
        for state, (fill, stroke) in COLOURS.items():
            names = [self._ids[step] for step, entry in states.items() if entry.state == state]
            if names:
                name = _CLASSES.get(state, state)
                text = ",color:#475569,stroke-dasharray:5 4" if state == "not entered" else ",color:#0f172a"
                yield f"  classDef {name} fill:{fill},stroke:{stroke}{text}"
                yield f"  class {','.join(names)} {name}"


def _escape(text: str) -> str:
    """Return *text* for use in quotes, with entities for characters special to Mermaid or HTML."""
    line = " ".join(text.split())
    return "".join(f"#{ord(each)};" if each in '#"<>&`;|\\' else each for each in line if each.isprintable())


def _yaml(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
