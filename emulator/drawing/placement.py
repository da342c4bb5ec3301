"""Layered layout of a scope: the row of each step, with labels between the rows and bends where an edge passes a row.

Ways that lead forward in the definition lead down; ways back are left to the side of the drawing and only bring their
label. Edges with the same target share their bends, so that twenty tasks with one handler need one line to it.

Then the x coordinate of each item in its row: as near as possible to the middle of the items it is connected with. Rows
are visited downwards and upwards repeatedly. Within a row the desired positions are met as well as the distances
between neighbours allow, which is an isotonic regression: neighbours whose desired positions collide form a block that
moves as one. In the end each step is put right below its predecessor, so that the main line of a flow is straight.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Literal

from emulator.drawing.model import END, START, Edge, Scope

Size = tuple[float, float]

ORDERING_ROUNDS = 12
"""How often the order of the rows is improved; more rounds change nothing in flows of a hundred steps."""

PLACING_ROUNDS = 40
STRAIGHTENING_ROUNDS = 21

NODE_GAP = 34.0
"""Pixels between two boxes."""

THIN_GAP = 16.0
"""Pixels beside a label or a line."""

_STIFFNESS = {("node", "node"): 4.0, ("bend", "bend"): 16.0, ("label", "bend"): 8.0}
"""The weight of a connection by the kinds of its ends, others 1: how strongly the line is kept straight.

Steps stay below their predecessors, and long lines straight, because a long line that jogs is hard to follow.
"""

_WEAK = 0.3
"""The factor for connections taken on errors, which give way to the normal course."""

_ANCHORED = 1000.0
"""The factor, in the last rounds, for a step that belongs right below its predecessor."""


@dataclass(slots=True, eq=False)
class Item:
    """A node, label or bend in a row. ``x`` is its centre, ``y`` its upper edge; both are set later.

    ``goes_back``: the item is on a way back and stands at the right. ``is_weak``: it is on a way taken on errors.
    """

    kind: Literal["node", "label", "bend"]
    key: str
    width: float
    height: float
    row: int = 0
    x: float = 0.0
    y: float = 0.0
    goes_back: bool = False
    is_weak: bool = False
    uppers: list["Item"] = field(default_factory=list)
    lowers: list["Item"] = field(default_factory=list)


@dataclass(slots=True, eq=False)
class Way:
    """The items that an edge passes, its source first.

    ``back``: from its last item the edge goes up at the side to ``target``. ``joins``: the edge ends on another one to
    the same target, at a bend, its last item, or at the side.
    """

    edge: Edge
    items: list[Item]
    target: Item
    back: bool = False
    joins: bool = False


@dataclass(slots=True, eq=False)
class Grid:
    """The rows of a scope from top to bottom, each from left to right, and the ways through them."""

    rows: list[list[Item]]
    ways: list[Way]
    nodes: dict[str, Item]


def arrange(scope: Scope, sizes: dict[str, Size], label_sizes: dict[Edge, Size]) -> Grid:
    """Put the nodes of *scope* in rows; *sizes* are those of its nodes, *label_sizes* of its labelled edges."""
    position = {node.name: index for index, node in enumerate(scope.nodes)}
    forward = [edge for edge in scope.edges if position[edge.target] > position[edge.source]]
    back = [edge for edge in scope.edges if position[edge.target] <= position[edge.source]]
    row_of = _rows(scope, forward, back)
    nodes = {}
    for node in scope.nodes:
        width, height = sizes[node.name]
        nodes[node.name] = Item(kind="node", key=node.name, width=width, height=height, row=row_of[node.name])
    bends: dict[tuple[str, bool, int], Item] = {}
    # The first edge to a target creates the bends; the others join them.
    forward.sort(key=lambda edge: row_of[edge.source])
    ways = [_forward_way(edge, nodes, label_sizes, bends) for edge in forward]
    ways += [_back_way(edge, nodes, label_sizes) for edge in back]
    passed = [item for way in ways for item in way.items if item.kind != "node"]
    items = list(dict.fromkeys([*nodes.values(), *passed]))
    rows: list[list[Item]] = [[] for _ in range(max(item.row for item in items) + 1)]
    for item in items:
        rows[item.row].append(item)
    for way in ways:
        for upper, lower in pairwise(way.items):
            if lower not in upper.lowers:
                upper.lowers.append(lower)
                lower.uppers.append(upper)
    return Grid(rows=_ordered(rows), ways=ways, nodes=nodes)


def _rows(scope: Scope, forward: list[Edge], back: list[Edge]) -> dict[str, int]:
    """Return the row of each node: below all nodes that lead to it; the end of the scope is in the last row."""
    into: dict[str, list[Edge]] = defaultdict(list)
    for edge in forward:
        into[edge.target].append(edge)
    rows: dict[str, int] = {}
    before = START
    for node in scope.nodes:
        least = 0 if node.name == START else rows[before] + 1
        above = [rows[edge.source] + (2 if edge.labels else 1) for edge in into[node.name]]
        rows[node.name] = max(above) if above else least
        before = node.name
    if END in rows:
        lowest = [row for name, row in rows.items() if name != END]
        labels = [rows[edge.source] + 1 for edge in back if edge.labels]
        rows[END] = max(rows[END], *(row + 1 for row in (*lowest, *labels)))
    return rows


def _forward_way(
    edge: Edge, nodes: dict[str, Item], label_sizes: dict[Edge, Size], bends: dict[tuple[str, bool, int], Item]
) -> Way:
    source, target = nodes[edge.source], nodes[edge.target]
    items = [source]
    row = source.row + 1
    if edge.labels:
        items.append(_label(edge, label_sizes, row))
        row += 1
    for each in range(row, target.row):
        key = (edge.target, edge.caught, each)
        if key in bends:
            return Way(edge=edge, items=[*items, bends[key]], target=target, joins=True)
        bends[key] = Item(kind="bend", key=edge.target, width=0, height=0, row=each, is_weak=edge.caught)
        items.append(bends[key])
    return Way(edge=edge, items=[*items, target], target=target)


def _back_way(edge: Edge, nodes: dict[str, Item], label_sizes: dict[Edge, Size]) -> Way:
    source = nodes[edge.source]
    items = [source]
    if edge.labels:
        label = _label(edge, label_sizes, source.row + 1)
        label.goes_back = True
        items.append(label)
    return Way(edge=edge, items=items, target=nodes[edge.target], back=True)


def _label(edge: Edge, label_sizes: dict[Edge, Size], row: int) -> Item:
    width, height = label_sizes[edge]
    return Item(kind="label", key=edge.source, width=width, height=height, row=row, is_weak=edge.caught)


def _ordered(rows: list[list[Item]]) -> list[list[Item]]:
    """Order each row so that few edges cross: by the mean position of the neighbours, downwards and upwards in turn."""
    best = rows = [_backs_last(row) for row in rows]
    fewest = _crossings(rows)
    for turn in range(ORDERING_ROUNDS):
        if not fewest:
            break
        rows = _sorted_once(rows, downwards=turn % 2 == 0)
        crossings = _crossings(rows)
        if crossings < fewest:
            best, fewest = rows, crossings
    return best


def _sorted_once(rows: list[list[Item]], *, downwards: bool) -> list[list[Item]]:
    result = list(rows)
    numbers = range(1, len(rows)) if downwards else range(len(rows) - 2, -1, -1)
    for number in numbers:
        fixed = {item: place for place, item in enumerate(result[number - 1 if downwards else number + 1])}
        row = result[number]
        weights = {}
        for place, item in enumerate(row):
            around = [fixed[other] for other in (item.uppers if downwards else item.lowers)]
            weights[item] = sum(around) / len(around) if around else place
        result[number] = _backs_last(sorted(row, key=weights.__getitem__))
    return result


def _backs_last(row: list[Item]) -> list[Item]:
    return sorted(row, key=lambda item: item.goes_back)


def _crossings(rows: list[list[Item]]) -> int:
    total = 0
    for upper, lower in pairwise(rows):
        place = {item: number for number, item in enumerate(lower)}
        ends = [place[other] for item in upper for other in sorted(item.lowers, key=place.__getitem__)]
        total += sum(1 for index, end in enumerate(ends) for later in ends[index + 1 :] if later < end)
    return total


Offsets = Mapping[tuple[Item, Item], float]
"""The x offset from an upper item's middle at which a connection leaves it, for those that are fixed."""


def place(grid: Grid, offsets: Offsets) -> None:
    """Set ``x`` of every item, keeping the distances between neighbours; the leftmost edge is at 0."""
    for row in grid.rows:
        _set(row, [0.0] * len(row), [1.0] * len(row))
    for turn in range(PLACING_ROUNDS):
        downwards = turn % 2 == 0
        for row in grid.rows if downwards else reversed(grid.rows):
            _settle(row, offsets, up=downwards, down=not downwards)
    anchors = _anchors(grid)
    back = {upper: lower for lower, upper in anchors.items()}
    for turn in range(STRAIGHTENING_ROUNDS):
        downwards = turn % 2 == 0
        for row in grid.rows if downwards else reversed(grid.rows):
            _settle(row, offsets, up=True, down=True, anchors=anchors if downwards else back)
    left = min(item.x - item.width / 2 for row in grid.rows for item in row)
    for row in grid.rows:
        for item in row:
            item.x -= left


def _anchors(grid: Grid) -> dict[Item, Item]:
    """Return, by item, the predecessor it belongs right below: the one that mainly leads to it."""
    anchors = {}
    for row in grid.rows:
        for item in row:
            lower = _strongest([(each, _stiffness(item, each)) for each in item.lowers])
            if lower is not None and _strongest([(each, _stiffness(each, lower)) for each in lower.uppers]) is item:
                anchors[lower] = item
    return anchors


def _strongest(candidates: Sequence[tuple[Item, float]]) -> Item | None:
    """Return the candidate with the greatest stiffness, None when several have it."""
    most = max((stiffness for _, stiffness in candidates), default=0.0)
    best = [item for item, stiffness in candidates if stiffness == most]
    return best[0] if len(best) == 1 else None


def _settle(
    row: Sequence[Item], offsets: Offsets, *, up: bool, down: bool, anchors: Mapping[Item, Item] | None = None
) -> None:
    wishes, weights = [], []
    for item in row:
        if anchors and (anchor := anchors.get(item)) is not None:
            wishes.append(anchor.x + offsets.get((anchor, item), 0.0) - offsets.get((item, anchor), 0.0))
            weights.append(_ANCHORED * _WEAK**2 if item.is_weak else _ANCHORED)
            continue
        places: list[tuple[float, float]] = []
        if up:
            places += [(upper.x + offsets.get((upper, item), 0.0), _stiffness(upper, item)) for upper in item.uppers]
        if down:
            places += [(lower.x - offsets.get((item, lower), 0.0), _stiffness(item, lower)) for lower in item.lowers]
        weight = sum(each for _, each in places)
        wishes.append(sum(x * each for x, each in places) / weight if weight else item.x)
        weights.append(weight or 0.05)
    _set(row, wishes, weights)


def _stiffness(upper: Item, lower: Item) -> float:
    stiffness = _STIFFNESS.get((upper.kind, lower.kind), 1.0)
    return stiffness * _WEAK if upper.is_weak or lower.is_weak else stiffness


def _set(row: Sequence[Item], wishes: Sequence[float], weights: Sequence[float]) -> None:
    distances = []
    for left, right in pairwise(row):
        gap = NODE_GAP if left.kind == right.kind == "node" else THIN_GAP
        distances.append((left.width + right.width) / 2 + gap)
    for item, x in zip(row, spread(wishes, weights, distances), strict=True):
        item.x = x


def spread(wishes: Sequence[float], weights: Sequence[float], distances: Sequence[float]) -> list[float]:
    """Return the positions nearest to *wishes* (least squares) that keep *distances* between neighbours."""
    sums = [0.0]
    for distance in distances:
        sums.append(sums[-1] + distance)
    blocks: list[tuple[float, float, int]] = []
    for wish, weight, before in zip(wishes, weights, sums, strict=False):
        mean, total, count = wish - before, weight, 1
        while blocks and blocks[-1][0] > mean:
            other, others, members = blocks.pop()
            mean = (mean * total + other * others) / (total + others)
            total += others
            count += members
        blocks.append((mean, total, count))
    flat = [mean for mean, _, count in blocks for _ in range(count)]
    return [mean + before for mean, before in zip(flat, sums, strict=False)]
