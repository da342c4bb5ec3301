"""The search through the schedules of a test: which are worth a run, those with the fewest deviations first.

A schedule is written as its deviations, the choices at which it does not take the first option: ``3:1 7:2``. All single
deviations come first, then pairs, so the first failure found has the shortest schedule (delay-bounded search: Emmi,
Qadeer and Rakamaric, POPL 2011).

Of orders that differ only in independent steps, which touch no resource in common, one is tried: only where two steps
race (they touch the same resource, and neither had to come first) a schedule is added in which the later one, or a step
that led to it, comes before the other (dynamic partial order reduction: Flanagan and Godefroid, POPL 2005). Without a
bound this leaves out no outcome, and orders already begun with a step elsewhere are not tried again (sleep sets:
Godefroid, LNCS 1032). With a bound it can leave out outcomes, like every reduction of a bounded search.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from heapq import heappop, heappush
from typing import Any, Final

from emulator.kernel.phrases import Phrase
from emulator.kernel.turnstile import EVERYTHING

UNLUCKY = 50
"""So many random schedules in a row that have been tried already are the last ones."""

Deviations = tuple[tuple[int, int], ...]
"""The choices at which a schedule does not take the first option, in order: number of the choice, index taken."""


def schedule_text(deviations: Deviations) -> str:
    """Return a schedule as it is written: ``3:1,7:2``; ``first`` for the one without deviations."""
    return ",".join(f"{number}:{taken}" for number, taken in deviations) or "first"


def read_schedule_text(text: str) -> Deviations:
    """Read what `schedule_text` writes.

    Raises: ValueError.
    """
    if text.strip() in {"", "first"}:
        return ()
    pairs = [part.split(":") for part in text.replace(" ", ",").split(",") if part]
    if not all(len(pair) == 2 and all(each.isdecimal() for each in pair) for pair in pairs):
        said = "a schedule is written as 3:1,7:2 (choice 3 takes option 1, ...), not {text!r}"
        raise ValueError(Phrase(said, text=text))
    return tuple(sorted((int(number), int(taken)) for number, taken in pairs))


def taken_in(view: Mapping[str, Any]) -> Deviations:
    """Return the deviations of a run from *view*, its answer to GET schedule."""
    return tuple((each["n"], each["taken"]) for each in view["choices"] if each["taken"])


def not_taken(given: Deviations, view: Mapping[str, Any]) -> str:
    """Return the part of the schedule *given* for which a run had no such choice or option; "" for none."""
    missed = tuple(each for each in given if each[1] and each not in taken_in(view))
    return schedule_text(missed) if missed else ""


def not_an_option(given: Deviations, view: Mapping[str, Any]) -> str:
    """Return a sentence about the first option in *given* that its choice in a run does not have; "" for none."""
    options = {each["n"]: len(each["options"]) for each in view["choices"]}
    for number, taken in given:
        if taken >= options.get(number, taken + 1):
            text = "choice {number} has no option {taken}, only those from 0 to {last}"
            return Phrase(text, number=number, taken=taken, last=options[number] - 1)
    return ""


class Search:
    """The schedules of one test, as an iterator; *deviations* bounds how many each has, None for no bound.

    When those within the bound are used up, random schedules follow until there were *most* runs in all, or `UNLUCKY`
    of them have found nothing new, unless every schedule has been tried or *random* is off. *reduce* leaves out orders
    of the same outcome. When several searches share the work, *share* is the number of this one, from 0, and how many
    there are; the first schedule belongs to all of them.
    """

    def __init__(
        self,
        *,
        deviations: int | None = 2,
        most: int = 500,
        random: bool = True,
        reduce: bool = True,
        share: tuple[int, int] = (0, 1),
    ) -> None:
        self._bound = deviations
        self._most = most
        self._reduce = reduce
        self._goes_on = random and deviations is not None
        self._share = share
        self._found: list[tuple[int, int, Deviations]] = [(0, 0, ())]
        self._seen: set[Deviations] = {()}
        self._tried: dict[tuple[int, Deviations], list[int]] = {}
        """The options of each choice that have been tried or will be, by choice and earlier deviations."""
        self._beyond = False
        self._random = 0
        self._unlucky = 0
        self._runs = 0
        self._learnt: set[Deviations] = set()
        self._tree = _Tree()
        self._is_running = False
        self._asked: Deviations | None = None
        """The schedule of the run under way, None for a random one."""

    @property
    def tried(self) -> int:
        """How many schedules were tried: random ones may repeat others, which count once."""
        return len(self._learnt) + self._is_running

    @property
    def known(self) -> int:
        """How many schedules were tried or are waiting to be."""
        return self.tried + len(self._found)

    @property
    def is_complete(self) -> bool:
        """Whether nothing is left to try, within the bound or beyond."""
        return not self._found and (not self._beyond or self._tree.is_covered)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """Yield the body of POST schedule for each run; call `learn` after each run, before the next one."""
        while self._runs < self._most:
            if self._found:
                deviations = self._asked = heappop(self._found)[2]
                body: dict[str, Any] = {"choices": {str(number): taken for number, taken in deviations}}
            elif self._goes_on and not self.is_complete and self._unlucky < UNLUCKY:
                self._random += 1
                self._asked = None
                number, of = self._share
                body = {"choices": {}, "strategy": "random", "seed": self._random * of + number}
            else:
                return
            self._runs += 1
            self._is_running = True
            yield body

    def learn(self, view: Mapping[str, Any]) -> bool:
        """Record the choices of a run from its GET schedule, and add the alternatives worth a run.

        Returns whether its schedule had not been tried before.
        """
        taken = taken_in(view)
        schedule = taken if self._asked is None else self._asked  # a busy machine can force another order on a run
        is_new = schedule not in self._learnt
        self._learnt.add(schedule)
        self._is_running = False
        self._unlucky = 0 if is_new else self._unlucky + 1
        self._tree.add([(each["taken"], len(each["options"])) for each in view["choices"]])
        for number, option in self._alternatives(view, taken):
            before = tuple(each for each in taken if each[0] < number)
            after = (*before, (number, option)) if option else before
            tried = self._tried.setdefault((number, before), [0])
            if option not in tried:
                tried.append(option)
            if after in self._seen:
                continue
            self._seen.add(after)
            if self._bound is not None and len(after) > self._bound:
                self._beyond = True
            elif self._is_own(after):
                heappush(self._found, (len(after), len(self._seen), after))
        return is_new

    def _is_own(self, deviations: Deviations) -> bool:
        number, of = self._share
        return of == 1 or not deviations or sum(deviations[0]) % of == number

    def _alternatives(self, view: Mapping[str, Any], taken: Deviations) -> list[tuple[int, int]]:
        """Return choice and index of each option that was not taken and is worth a run."""
        orders = {choice["step"]: choice for choice in view["choices"] if choice["steps"]}
        others = [choice for choice in view["choices"] if not choice["steps"]]
        found = [(each["n"], at) for each in others for at in range(len(each["options"])) if at != each["taken"]]
        if not self._reduce:
            return found + [
                (each["n"], at) for each in orders.values() for at in range(len(each["steps"])) if at != each["taken"]
            ]
        history = History(view["steps"])
        wanted = history.reversals({place: choice["steps"] for place, choice in orders.items()})
        asleep: set[int] = set()
        for place in range(len(view["steps"])):
            choice = orders.get(place)
            if choice is not None:
                before = tuple(each for each in taken if each[0] < choice["n"])
                tried = self._tried.setdefault((choice["n"], before), [0])
                earlier = tried[: tried.index(choice["taken"])] if choice["taken"] in tried else tried
                asleep |= {choice["steps"][option] for option in earlier} if self._bound is None else set()
                found += [
                    (choice["n"], choice["steps"].index(step)) for step in wanted.get(place, ()) if step not in asleep
                ]
            if history.numbers[place] in asleep:
                break  # all that follows is explored elsewhere, where it begins with this step
            asleep = {step for step in asleep if not history.depend(place, step)}
        return found


class _Tree:
    """The choices of all runs: where each option leads to another choice or to the end."""

    def __init__(self) -> None:
        self.is_covered = False
        """Whether every option of every choice has been taken."""
        self._options = 0
        self._below: dict[int, _Tree] = {}

    def add(self, choices: Sequence[tuple[int, int]]) -> None:
        """Add a run, by the option that each choice took, and how many there were."""
        path = [self]
        for taken, options in choices:
            path[-1]._options = max(options, path[-1]._options)
            path.append(path[-1]._below.setdefault(taken, _Tree()))
        for each in reversed(path):
            taken_all = len(each._below) == each._options
            each.is_covered = taken_all and all(below.is_covered for below in each._below.values())


class History:
    """The steps of a run in order, as GET schedule shows them."""

    def __init__(self, steps: Sequence[Mapping[str, Any]]) -> None:
        self.numbers = [step["step"] for step in steps]
        self._touched = [frozenset(step["touched"]) for step in steps]
        self._causes = [step["by"] for step in steps]
        self._place = {number: at for at, number in enumerate(self.numbers)}
        self._before: list[set[int]] = []
        """The positions of the steps that had to come before each: its cause, and earlier ones in conflict."""
        self._races: list[tuple[int, int]] = []
        for at in range(len(steps)):
            self._add(at)

    def _add(self, at: int) -> None:
        before: set[int] = set()
        cause = self._place.get(self._causes[at])
        if cause is not None and cause != at:
            before |= {cause, *self._before[cause]}
        for earlier in range(at - 1, -1, -1):
            if earlier not in before and self._conflict(earlier, at):
                self._races.append((earlier, at))
                before |= {earlier, *self._before[earlier]}
        self._before.append(before)

    def reversals(self, options: Mapping[int, Sequence[int]]) -> dict[int, list[int]]:
        """Return, by position, those of the waiting *options* that reverse a race when taken there."""
        wanted: dict[int, list[int]] = {}
        for first, second in self._races:
            waiting = [step for step in options.get(first, ()) if step != self.numbers[first]]
            leads = {self.numbers[at] for at in self._before[second] if at > first} | {self.numbers[second]}
            leading = [step for step in waiting if step in leads]
            wanted.setdefault(first, []).extend(leading[:1] or waiting)
        never = {step for steps in options.values() for step in steps}.difference(self._place)
        for place, steps in options.items():  # a step that has not run may conflict with any other
            wanted.setdefault(place, []).extend(step for step in steps if step in never)
        return wanted

    def depend(self, place: int, step: int) -> bool:
        """Whether the step at *place* and the step numbered *step* may touch a resource in common."""
        at = self._place.get(step)
        return at is None or self._conflict(place, at)

    def _conflict(self, one: int, other: int) -> bool:
        first, second = self._touched[one], self._touched[other]
        if EVERYTHING in first or EVERYTHING in second:
            return True
        return not first.isdisjoint(second)


SENTENCES: Final = {"order": "{option} goes before {first}", "test": "{option} is chosen"}
"""The sentence about a deviation by the kind of its choice."""


def deviations_of(view: Mapping[str, Any]) -> list[dict[str, str]]:
    """Return the deviations of a run: kind of choice, option taken, and the first option."""
    found = []
    for choice in view["choices"]:
        if choice["taken"]:
            option, first = choice["options"][choice["taken"]], choice["options"][0]
            if choice["kind"] == "fault":
                option = _with_fault(*_fault_of(choice))
            found.append({"kind": choice["kind"], "option": option, "first": first})
    return found


def in_words(deviation: Mapping[str, str], translated: Callable[[str], str] = str) -> str:
    """Return the sentence about a deviation, in the language of *translated*."""
    sentence = SENTENCES.get(deviation["kind"])
    return translated(sentence).format(**deviation) if sentence else deviation["option"]


def deviations_in_words(view: Mapping[str, Any], translated: Callable[[str], str] = str) -> list[str]:
    """Return a sentence for each of `deviations_of`."""
    return [in_words(each, translated) for each in deviations_of(view)]


def side_by_side(first: Sequence[str], other: Sequence[str]) -> list[str]:
    """Return two lists as two columns, with the first difference marked."""
    width = max((len(each) for each in first), default=0)
    lines = []
    marked = False
    for at in range(max(len(first), len(other))):
        left, right = (each[at] if at < len(each) else "" for each in (first, other))
        differs = left != right and not marked
        marked = marked or differs
        lines.append(f"{'>' if differs else ' '} {left:<{width}}  {right}".rstrip())
    return lines


def steps_of(view: Mapping[str, Any]) -> list[str]:
    """Return the effects of a run in order, a line each, with the faults injected into them."""
    faults = dict(_fault_of(each) for each in view["choices"] if each["kind"] == "fault" and each["taken"])
    went = [step["what"] for step in view["steps"] if not step["what"].startswith("begin ")]
    return [_with_fault(what, faults[what]) if what in faults else what for what in went]


def _fault_of(choice: Mapping[str, Any]) -> tuple[str, str]:
    """Return the effect that a choice of a fault is about, and the fault that was chosen."""
    verdict, _, effect = choice["options"][choice["taken"]].partition(": ")
    return effect, verdict


def _with_fault(effect: str, verdict: str) -> str:
    return f"{effect}: {verdict}"
