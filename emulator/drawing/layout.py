"""Sizes and positions in the picture of a flow, computed from the inside out: a box is as large as its content.

The result is a `Drawing`: flat lists in drawing order, with absolute coordinates, in pixels from the upper left corner.
The same graph gives the same drawing, to the last digit.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from emulator.drawing.looks import look
from emulator.drawing.model import END, START, Edge, Node, Scope
from emulator.drawing.placement import Size, Way, arrange, place
from emulator.drawing.routing import Point, route
from emulator.drawing.text_width import LINE_HEIGHT, text_width, wrap
from emulator.drawing.words import Say
from emulator.kernel.frozen import frozen, replace

TITLE, SMALL = 13.0, 11.0
"""Font sizes of a step's name, and of everything else."""

_TEXT_ROOM = 220.0
_LABEL_ROOM = 170.0
_PADDING = 9.0
_LEAST_WIDTH = 112.0
_POINT = 16.0
"""Pixels that shapes with points or round ends need more at each side."""

_FRAME_GAP = 14.0
_STEM = 12.0
_SHELF = 1400.0
"""The width in pixels beyond which further branches are placed below."""

_DOT = 10.0


@frozen
class Rect:
    """A rectangle; ``x`` and ``y`` are its upper left corner."""

    x: float
    y: float
    width: float
    height: float

    def moved(self, dx: float, dy: float) -> "Rect":
        """Return the rectangle moved by (*dx*, *dy*)."""
        return replace(self, x=self.x + dx, y=self.y + dy)


@frozen
class Box:
    """A node. ``title``, ``about`` and ``note`` are lines of text; ``path`` are the enclosing scopes.

    ``head`` is the height of the part that holds the text, less than the whole when the node holds scopes.
    """

    node: Node
    rect: Rect
    path: tuple[str, ...]
    head: float
    title: tuple[str, ...] = ()
    about: tuple[str, ...] = ()
    note: str = ""


@frozen
class Frame:
    """The area of a branch or body inside a box, with the label in its upper left corner."""

    rect: Rect
    label: str


@frozen
class Tag:
    """The label of an edge, in lines; it is drawn on the edge."""

    rect: Rect
    lines: tuple[str, ...]
    text: str
    caught: bool = False


@frozen
class Route:
    """The line of an edge through ``points``; ``joins``: it ends on another route to the same target.

    ``edge`` is None for the stems that lead from a choice to its options; ``leads`` is then the edge that continues it.
    """

    points: tuple[Point, ...]
    edge: Edge | None = None
    leads: Edge | None = None
    path: tuple[str, ...] = ()
    arrow: bool = True
    joins: bool = False


@dataclass(slots=True)
class Drawing:
    """All parts of a picture. A box comes before its content."""

    width: float = 0.0
    height: float = 0.0
    boxes: list[Box] = field(default_factory=list)
    frames: list[Frame] = field(default_factory=list)
    tags: list[Tag] = field(default_factory=list)
    routes: list[Route] = field(default_factory=list)
    entry: float = 0.0
    exit: float = 0.0
    """The x coordinates at which the scope is entered and left."""

    def take(self, other: "Drawing", dx: float, dy: float) -> None:
        """Add the parts of *other*, moved by (*dx*, *dy*)."""
        self.boxes += [replace(box, rect=box.rect.moved(dx, dy)) for box in other.boxes]
        self.frames += [replace(frame, rect=frame.rect.moved(dx, dy)) for frame in other.frames]
        self.tags += [replace(tag, rect=tag.rect.moved(dx, dy)) for tag in other.tags]
        for each in other.routes:
            self.routes.append(replace(each, points=tuple((x + dx, y + dy) for x, y in each.points)))


def draw(graph: Scope, notes: Mapping[str, str], say: Say = str) -> Drawing:
    """Lay out a flow. *notes* has a line of text by step, such as its state; *say* translates the words."""
    return _Layout(notes, say).scope(graph, (), is_option=False)


@frozen
class _Measured:
    """A node's box at the origin and its content; ``exits`` are the x coordinates of its options' ends."""

    box: Box
    inside: Drawing
    exits: tuple[float, ...] = ()


class _Layout:
    def __init__(self, notes: Mapping[str, str], say: Say) -> None:
        self._notes = notes
        self._say = say

    def scope(self, scope: Scope, path: tuple[str, ...], *, is_option: bool) -> Drawing:
        measured = {node.name: self._measure(node, scope, path, is_option=is_option) for node in scope.nodes}
        sizes = {name: (each.box.rect.width, each.box.rect.height) for name, each in measured.items()}
        labels = {edge: _label_lines(edge.labels, self._say) for edge in scope.edges if edge.labels}
        grid = arrange(scope, sizes, {edge: _tag_size(lines) for edge, lines in labels.items()})
        fixed: dict[Way, float] = {}
        for way in grid.ways:
            if way.edge.option is not None:
                source = measured[way.edge.source]
                fixed[way] = source.exits[way.edge.option] - source.box.rect.width / 2
        place(grid, {(way.items[0], way.items[1]): x for way, x in fixed.items() if len(way.items) > 1})
        points, width, height = route(grid, fixed)
        drawing = Drawing(width=width, height=height)
        for name, item in grid.nodes.items():
            left = item.x - item.width / 2
            box = measured[name].box
            drawing.boxes.append(replace(box, rect=box.rect.moved(left, item.y)))
            drawing.take(measured[name].inside, left, item.y)
        for way in grid.ways:
            arrow = not way.joins and not (is_option and way.edge.target == END)
            corners = tuple(points[way])
            drawing.routes.append(Route(points=corners, edge=way.edge, path=path, arrow=arrow, joins=way.joins))
            for item in way.items:
                if item.kind == "label":
                    rect = Rect(x=item.x - item.width / 2, y=item.y, width=item.width, height=item.height)
                    text = "\n".join(way.edge.labels)
                    drawing.tags.append(Tag(rect=rect, lines=labels[way.edge], text=text, caught=way.edge.caught))
        drawing.entry = grid.nodes[START].x
        drawing.exit = grid.nodes[END].x if END in grid.nodes else drawing.entry
        return drawing

    def _measure(self, node: Node, scope: Scope, path: tuple[str, ...], *, is_option: bool) -> _Measured:
        if node.kind in {"start", "end"}:
            return _measured_end(node, scope, path, self._say, is_option=is_option)
        title = wrap(node.name, TITLE, _TEXT_ROOM, 6, bold=True)
        about = wrap(node.about, SMALL, _TEXT_ROOM, 3) if node.about else ()
        note = self._notes.get(node.name, "")
        lines = [text_width(line, TITLE, bold=True) for line in title]
        lines += [text_width(line, SMALL) for line in (*about, note, self._say(node.kind))]
        side = _PADDING + (_POINT if look(node.kind).is_pointed and not node.scopes else 2.0)
        badge = text_width(node.retry, SMALL - 1, bold=True) if node.retry else 0.0  # ends left of the arrow
        width = max(_LEAST_WIDTH, max(lines) + 2 * side, 2 * badge + 32.0 if badge else 0.0)
        small = len(about) + (1 if note else 0) + 1
        head = 2 * _PADDING + (len(title) * TITLE + small * SMALL) * LINE_HEIGHT
        rect = Rect(x=0, y=0, width=width, height=head)
        box = Box(node=node, rect=rect, path=path, head=head, title=title, about=about, note=note)
        if not node.scopes:
            return _Measured(box=box, inside=Drawing())
        return self._options(box) if node.kind == "choice" else self._branches(box)

    def _branches(self, box: Box) -> _Measured:
        """Place branches side by side, each in a frame; those beyond the shelf's width below."""
        inside = Drawing()
        x, y, shelf, right = _FRAME_GAP, box.head + _FRAME_GAP / 2, 0.0, 0.0
        for scope in box.node.scopes:
            inner = self.scope(scope, (*box.path, f"{box.node.name}/{scope.label}"), is_option=False)
            label = scope.label if box.node.kind == "parallel" else self._say("for each")
            width = max(inner.width, text_width(label, SMALL)) + 2 * _FRAME_GAP
            height = inner.height + 2 * _FRAME_GAP + SMALL
            if x > _FRAME_GAP and x + width > _SHELF:
                x, y, shelf = _FRAME_GAP, y + shelf + _FRAME_GAP, 0.0
            inside.frames.append(Frame(rect=Rect(x=x, y=y, width=width, height=height), label=label))
            inside.take(inner, x + (width - inner.width) / 2, y + _FRAME_GAP + SMALL)
            x += width + _FRAME_GAP
            shelf, right = max(shelf, height), max(right, x)
        return _widened(box, inside, right, y + shelf + _FRAME_GAP)

    def _options(self, box: Box) -> _Measured:
        """Put the options of a choice side by side; each begins with its condition and is left at the lower edge."""
        columns = []
        for index, scope in enumerate(box.node.scopes):
            path = (*box.path, f"{box.node.name}/{index}")
            columns.append((path, self.scope(scope, path, is_option=True)))
        deepest = max(column.height for _, column in columns)
        inside = Drawing()
        top = box.head + _STEM
        x = _FRAME_GAP
        exits: list[float] = []
        for (path, column), scope in zip(columns, box.node.scopes, strict=True):
            _extend(column, path, deepest)
            inside.take(column, x, top)
            stem = ((x + column.entry, box.head), (x + column.entry, top))
            inside.routes.append(Route(points=stem, leads=scope.edges[0], arrow=False))
            exits.append(x + column.exit)
            x += column.width + _FRAME_GAP
        measured = _widened(box, inside, x, top + deepest)
        shift = (measured.box.rect.width - x) / 2
        return replace(measured, exits=tuple(each + shift for each in exits))


def _widened(box: Box, inside: Drawing, width: float, height: float) -> _Measured:
    """Return the box around *inside*, which is centred when the box's text is wider."""
    full = max(box.rect.width, width)
    moved = Drawing()
    moved.take(inside, (full - width) / 2, 0)
    return _Measured(box=replace(box, rect=replace(box.rect, width=full, height=height)), inside=moved)


def _extend(column: Drawing, path: tuple[str, ...], height: float) -> None:
    """Lengthen an option to *height*: its end moves down, and with it the last piece of every line to the end."""
    for index, box in enumerate(column.boxes):
        if box.node.kind == "end" and box.path == path:
            column.boxes[index] = replace(box, rect=replace(box.rect, y=height))
    for index, each in enumerate(column.routes):
        if each.edge is not None and each.edge.target == END and each.path == path and not each.joins:
            *before, (x, _) = each.points
            column.routes[index] = replace(each, points=(*before, (x, height)))


def _measured_end(node: Node, scope: Scope, path: tuple[str, ...], say: Say, *, is_option: bool) -> _Measured:
    """Return the box of a scope's start or end: a word for the flow, a dot for branches, the condition of an option."""
    title: tuple[str, ...] = ()
    width = height = _DOT
    inside = Drawing()
    if not path:
        title = (say("Start" if node.kind == "start" else "End"),)
        width, height = 76.0, 30.0
    elif is_option and node.kind == "start":
        lines = _label_lines((scope.label,), say)
        width, height = _tag_size(lines)
        inside.tags.append(Tag(rect=Rect(x=0, y=0, width=width, height=height), lines=lines, text=scope.label))
    elif is_option:
        width, height = 2.0, 0.0
    rect = Rect(x=0, y=0, width=width, height=height)
    return _Measured(box=Box(node=node, rect=rect, path=path, head=height, title=title), inside=inside)


def _label_lines(labels: tuple[str, ...], say: Say) -> tuple[str, ...]:
    """Return the lines of a label: each condition or list of errors starts a new one."""
    lines: list[str] = []
    for number, label in enumerate(labels):
        text = label if number + 1 == len(labels) else say("{label} or").format(label=label)
        lines += wrap(text, SMALL, _LABEL_ROOM, 4)
    return tuple(lines)


def _tag_size(lines: tuple[str, ...]) -> Size:
    return max(text_width(line, SMALL) for line in lines) + 8.0, len(lines) * SMALL * LINE_HEIGHT + 4.0
