"""Routing of edges: down through the spaces between rows, sideways on tracks in them, and back up at the right side.

Only the spaces between rows and the side hold sideways lines, and each way has a place of its own in every row it
passes, so that no edge runs through a box.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations, pairwise

from emulator.drawing.placement import Grid, Item, Way, spread

Point = tuple[float, float]

TRACK = 12.0
"""Pixels between two parallel lines."""

ABOVE, BELOW, NO_TRACK = 12.0, 18.0, 32.0
"""Pixels above the first track of a space, below the last one (an arrowhead fits), and of a space without tracks."""

_MARGIN = 7.0
_CORNER = 16.0
"""Pixels from a box's corners within which no edge leaves it."""

_BESIDE, _NEARLY = 20.0, 20.0
"""Pixels beside the middle of a box at which errors arrive, and more by which a way may miss it to be straight."""


@dataclass(slots=True, eq=False)
class _Hop:
    """A line through one space. ``top`` and ``bottom`` are the x of its ends, None for an end at the lane ``side``.

    Those of a ``group``, which is the target, whether errors lead there, and whether they enter from a lane, may lie on
    one another.
    """

    group: tuple[str, bool, bool]
    top: float | None
    bottom: float | None
    side: float = 0.0
    track: int = 0

    @property
    def span(self) -> tuple[float, float]:
        ends = (self.side if self.top is None else self.top, self.side if self.bottom is None else self.bottom)
        return min(ends), max(ends)

    @property
    def is_straight(self) -> bool:
        return self.top is not None and self.bottom is not None and abs(self.top - self.bottom) < 0.5


@dataclass(slots=True, eq=False)
class _Course:
    """The hops of a way from its ``port`` to its ``arrival``, which are x coordinates.

    A way back goes up in its ``lane`` and enters from above at ``entry``, or from the side when that is None. It enters
    by a hop of its own, since it may have come down through the same space.
    """

    way: Way
    port: float
    hops: dict[int, _Hop] = field(default_factory=dict)
    lane: float = 0.0
    entry: float | None = None
    entering: _Hop | None = None
    arrival: float = 0.0


def route(grid: Grid, ports: Mapping[Way, float]) -> tuple[dict[Way, list[Point]], float, float]:
    """Set ``y`` of every item and return the points of each way, the total width and height.

    *ports* are the x offsets from the source's middle of ways that have to leave there.
    """
    courses = _with_ports(grid, ports)
    width = _take_lanes(grid, courses)
    spaces: dict[int, list[_Hop]] = defaultdict(list)
    for course in courses:
        _take_hops(course)
        for number, hop in course.hops.items():
            spaces[number].append(hop)
        if course.entering is not None:
            spaces[course.way.target.row - 1].append(course.entering)
    tracks = {number: _assign_tracks(hops) for number, hops in spaces.items()}
    _join_lanes(courses)
    bottom_of: list[float] = []
    y = 0.0
    for number, row in enumerate(grid.rows):
        for item in row:
            item.y = y
        y += max(item.height for item in row) if row else 0.0
        bottom_of.append(y)
        if number + 1 < len(grid.rows) or number in tracks:
            count = tracks.get(number, 0)
            y += ABOVE + BELOW + (count - 1) * TRACK if count else NO_TRACK
    return {course.way: _points(course, bottom_of) for course in courses}, width, y


def _with_ports(grid: Grid, fixed: Mapping[Way, float]) -> list[_Course]:
    leaving: dict[Item, list[Way]] = defaultdict(list)
    for way in grid.ways:
        leaving[way.items[0]].append(way)
    courses = {}
    for source, ways in leaving.items():
        free = sorted((way for way in ways if way not in fixed), key=_wish)
        for way, x in zip(free, _port_places(source, [_wish(way) for way in free]), strict=True):
            courses[way] = _Course(way=way, port=x)
        for way in ways:
            if way in fixed:
                courses[way] = _Course(way=way, port=source.x + fixed[way])
    return [courses[way] for way in grid.ways]


def _wish(way: Way) -> float:
    return way.items[1].x if len(way.items) > 1 else way.items[0].x + way.items[0].width


def _port_places(source: Item, wishes: Sequence[float]) -> list[float]:
    half = max(source.width / 2 - _CORNER, 0.0)
    low, high = source.x - half, source.x + half
    count = len(wishes)
    gap = min(_CORNER, 2 * half / (count - 1)) if count > 1 else 0.0
    places = spread([min(max(wish, low), high) for wish in wishes], [1.0] * count, [gap] * max(count - 1, 0))
    places = [min(x, high - (count - 1 - index) * gap) for index, x in enumerate(places)]
    return [max(x, low + index * gap) for index, x in enumerate(places)]


def _group(way: Way, *, enters: bool = False) -> tuple[str, bool, bool]:
    return way.edge.target, way.edge.caught, enters


def _take_lanes(grid: Grid, courses: Sequence[_Course]) -> float:
    """Give the ways back to each target a lane at the right; return the total width."""
    right = max(item.x + item.width / 2 for row in grid.rows for item in row)
    lanes: list[list[tuple[int, int]]] = []
    for members in sorted(_ways_back(courses), key=_height):
        low, high = members[0].way.target.row - 1, max(course.way.items[-1].row for course in members)
        free = (all(end < low or begin > high for begin, end in lane) for lane in lanes)
        number = next((n for n, is_free in enumerate(free) if is_free), len(lanes))
        if number == len(lanes):
            lanes.append([])
        lanes[number].append((low, high))
        target = members[0].way.target
        entry = None if grid.rows[target.row][-1] is target else target.x + min(target.width / 4, 40.0)
        for course in members:
            course.lane = right + _CORNER + number * TRACK
            course.entry = entry
    return right + (_CORNER + (len(lanes) - 1) * TRACK + 2 if lanes else 0.0)


def _ways_back(courses: Sequence[_Course]) -> list[list[_Course]]:
    groups: dict[tuple[str, bool, bool], list[_Course]] = defaultdict(list)
    for course in courses:
        if course.way.back:
            groups[_group(course.way)].append(course)
    return list(groups.values())


def _join_lanes(courses: Sequence[_Course]) -> None:
    """Let the way that begins lowest run through its lane, and the others to the same target end on it."""
    for members in _ways_back(courses):
        lowest = max(members, key=_begin_of_lane)
        for course in members:
            course.way.joins = course is not lowest


def _begin_of_lane(course: _Course) -> tuple[int, int]:
    row = course.way.items[-1].row
    return row, course.hops[row].track


def _height(members: Sequence[_Course]) -> int:
    return max(course.way.items[-1].row for course in members) - members[0].way.target.row


def _take_hops(course: _Course) -> None:
    way, group = course.way, _group(course.way)
    xs = [course.port, *(item.x for item in way.items[1:])]
    if len(xs) > 1 and way.items[-1] is way.target:
        xs[-1] = course.arrival = _arrival(way, xs[-2])
    for item, (top, bottom) in zip(way.items, pairwise(xs), strict=False):
        course.hops[item.row] = _Hop(group=group, top=top, bottom=bottom)
    if way.back:
        course.hops[way.items[-1].row] = _Hop(group=group, top=xs[-1], bottom=None, side=course.lane)
        if course.entry is not None:
            enters = _group(way, enters=True)
            course.entering = _Hop(group=enters, top=None, bottom=course.entry, side=course.lane)


def _arrival(way: Way, above: float) -> float:
    """Return the x at which a way from *above* meets its target's upper edge.

    That is the middle, or a little beside it if that makes the line straight, or to separate errors from other ways.
    """
    target = way.target
    room = max(target.width / 2 - _CORNER, 0.0)
    wish, near = target.x, min(_NEARLY, room)
    if way.edge.caught and any(not upper.is_weak for upper in target.uppers):
        wish += min(_BESIDE, room) * (1 if above > target.x else -1)
        near /= 2
    return above if abs(above - wish) <= near and abs(above - target.x) <= room else wish


def _assign_tracks(hops: Sequence[_Hop]) -> int:
    """Give each sideways line a track, so that few cross and none overlap; return the number of tracks."""
    bent = [hop for hop in hops if not hop.is_straight]
    under: dict[_Hop, list[_Hop]] = defaultdict(list)
    for first, second in combinations(bent, 2):
        if first.group != second.group and _overlap(first, second):
            upper, lower = (first, second) if _goes_above(first, second) else (second, first)
            under[upper].append(lower)
    waiting = dict.fromkeys(bent, 0)
    for lowers in under.values():
        for lower in lowers:
            waiting[lower] += 1
    while waiting:
        # The wishes may form a cycle; then the first hop goes above the others.
        hop = next((each for each, above in waiting.items() if not above), next(iter(waiting)))
        del waiting[hop]
        for lower in under[hop]:
            if lower in waiting:
                waiting[lower] -= 1
                lower.track = max(lower.track, hop.track + 1)
    return max((hop.track for hop in bent), default=-1) + 1


def _overlap(first: _Hop, second: _Hop) -> bool:
    return first.span[0] < second.span[1] + _MARGIN and second.span[0] < first.span[1] + _MARGIN


def _goes_above(first: _Hop, second: _Hop) -> bool:
    """Whether *first* needs the higher track: verticals must not run into one another, then fewer crossings."""
    if _near(first.top, second.bottom):
        return True
    if _near(second.top, first.bottom):
        return False
    if first.top is None or second.top is None:
        return second.top is None
    rightwards = _end(first) > first.top, _end(second) > second.top
    if rightwards == (True, True):
        return first.top > second.top
    if rightwards == (False, False):
        return first.top < second.top
    return first.span[0] <= second.span[0]


def _end(hop: _Hop) -> float:
    return hop.side if hop.bottom is None else hop.bottom


def _near(x: float | None, other: float | None) -> bool:
    return x is not None and other is not None and abs(x - other) < _MARGIN


def _points(course: _Course, bottom_of: Sequence[float]) -> list[Point]:
    way = course.way
    source = way.items[0]
    points = [(course.port, source.y + source.height)]
    for item, lower in pairwise(way.items):
        points += _bend(course.hops[item.row], bottom_of[item.row])
        points.append((course.arrival if lower is way.target else lower.x, lower.y))
        if lower.kind == "label":
            points.append((lower.x, lower.y + lower.height))
    if way.back:
        points += _way_up(course, bottom_of)
    return _without_repeats(points)


def _bend(hop: _Hop, bottom: float) -> list[Point]:
    y = bottom + ABOVE + hop.track * TRACK
    if hop.is_straight or hop.top is None or hop.bottom is None:
        return []
    return [(hop.top, y), (hop.bottom, y)]


def _way_up(course: _Course, bottom_of: Sequence[float]) -> list[Point]:
    way = course.way
    last = way.items[-1]
    hop = course.hops[last.row]
    y = bottom_of[last.row] + ABOVE + hop.track * TRACK
    x = course.port if len(way.items) == 1 else last.x
    points = [(x, y), (course.lane, y)]
    target = way.target
    if way.joins:
        return points
    if course.entry is None or course.entering is None:
        middle = target.y + target.height / 2 + (6.0 if way.edge.caught else 0.0)
        return [*points, (course.lane, middle), (target.x + target.width / 2, middle)]
    y = bottom_of[target.row - 1] + ABOVE + course.entering.track * TRACK
    return [*points, (course.lane, y), (course.entry, y), (course.entry, target.y)]


def _without_repeats(points: Sequence[Point]) -> list[Point]:
    """Drop points that are where their predecessor is, or on the line between their neighbours."""
    kept: list[Point] = []
    for x, y in points:
        if kept and abs(kept[-1][0] - x) < 0.5 and abs(kept[-1][1] - y) < 0.5:
            continue
        while len(kept) > 1 and _in_line(kept[-2], kept[-1], (x, y)):
            kept.pop()
        kept.append((x, y))
    return kept


def _in_line(first: Point, second: Point, third: Point) -> bool:
    return any(abs(first[axis] - second[axis]) < 0.5 and abs(second[axis] - third[axis]) < 0.5 for axis in (0, 1))
