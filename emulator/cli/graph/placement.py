"""Where in its row each item stands: as near as possible to the middle of what it is connected with.

Rows are visited down and up again and again. Within a row the wishes are met as well as the distances between
neighbours allow, which is an isotonic regression: neighbours whose wishes collide form a block that moves as one. In
the end what follows something is put right below it, so that the main line of a flow is a straight one.
"""

from collections.abc import Mapping, Sequence
from itertools import pairwise

from emulator.cli.graph.layers import Grid, Item

ROUNDS = 40
STRAIGHTENING_ROUNDS = 21
NODE_GAP = 34.0
"""Pixels between two boxes."""

THIN_GAP = 16.0
"""Pixels beside a label or a line."""

_STIFFNESS = {("node", "node"): 4.0, ("bend", "bend"): 16.0, ("label", "bend"): 8.0}
"""How much a pair wants to be straight; others 1. What follows stands below, and a long line that jogs is hard to
follow."""

_WEAK = 0.3
"""The share of that for ways that are taken on errors: they give way to what normally happens."""

_ANCHORED = 1000.0
"""How much more what belongs right below something insists on it, in the end."""

Offsets = Mapping[tuple[Item, Item], float]
"""Where a connection leaves its upper item, from that item's middle, when that is given."""


def place(grid: Grid, offsets: Offsets) -> None:
    """Set ``x`` of every item so that neighbours keep their distance; the leftmost edge is at 0."""
    for row in grid.rows:
        _set(row, [0.0] * len(row), [1.0] * len(row))
    for turn in range(ROUNDS):
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
    """Return, for items that belong right below another one, that other: each is what the other leads on to most."""
    found = {}
    for row in grid.rows:
        for item in row:
            lower = _strongest([(each, _stiffness(item, each)) for each in item.lowers])
            if lower is not None and _strongest([(each, _stiffness(each, lower)) for each in lower.uppers]) is item:
                found[lower] = item
    return found


def _strongest(candidates: Sequence[tuple[Item, float]]) -> Item | None:
    """Return the one with the greatest stiffness, None when several have it."""
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
    distances = [_distance(left, right) for left, right in pairwise(row)]
    for item, x in zip(row, spread(wishes, weights, distances), strict=True):
        item.x = x


def _distance(left: Item, right: Item) -> float:
    gap = NODE_GAP if left.kind == right.kind == "node" else THIN_GAP
    return (left.width + right.width) / 2 + gap


def spread(wishes: Sequence[float], weights: Sequence[float], distances: Sequence[float]) -> list[float]:
    """Return positions as near to *wishes* as possible (least squares) that keep *distances* between neighbours."""
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
