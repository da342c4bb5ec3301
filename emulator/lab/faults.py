"""Faults: rules for the calls that errors are injected into.

A rule counts the calls it matches. It leaves the first *after* of them alone, then injects its effect with
*probability*, drawn from *seed* and the number of the call, at most *times* times. When several rules would inject, the
oldest does. The book of rules is pure: the same calls get the same faults.
"""

import hashlib
from collections.abc import Callable, Collection, Iterator, Mapping
from fnmatch import fnmatchcase
from typing import Any, Literal, get_args

from emulator.kernel.frozen import frozen
from emulator.kernel.instrumentation import FunctionFault, Origin, Subject
from emulator.lab.errors import LabError, invalid
from emulator.wire.durations import parse_duration

SERVICES = ("fc", "fnf", "mns", "oss", "ram", "sts", "http")
"""``http`` stands for outside endpoints that flows call: operations are methods, resources are URLs and hosts."""

ORIGINS = get_args(Origin)
FUNCTION_FAULTS = get_args(FunctionFault)
MOST_RULES = 1000

Drop = Literal["", "before", "after"]


@frozen
class Match:
    """The calls a rule is for; an empty member fits all. ``operation`` and ``resource`` may contain ``*`` and ``?``."""

    service: str = ""
    operation: str = ""
    resource: str = ""
    origin: str = ""

    def fits(self, subject: Subject) -> bool:
        """Whether the rule is for *subject*."""
        return (
            (not self.service or self.service == subject.service)
            and (not self.origin or self.origin in subject.origins)
            and (not self.operation or fnmatchcase(subject.operation.lower(), self.operation.lower()))
            and (not self.resource or any(fnmatchcase(name, self.resource) for name in subject.names))
        )


@frozen
class Effect:
    """The effect of a fault on a call.

    ``error`` is an error code of the service, with ``status`` in place of the documented one unless that is 0;
    ``delay_ms`` is waited first; ``drop`` closes the connection before the work, or after it was done; ``throttle`` is
    the service's own error for too many calls; ``function`` is the failure of the function that is called.
    """

    error: str = ""
    status: int = 0
    delay_ms: int = 0
    drop: Drop = ""
    throttle: bool = False
    function: str = ""

    @property
    def words(self) -> str:
        """The effect in the words of the admin API, such as ``error InternalError, delay 200ms``."""
        said = {
            "error": self.error,
            "delay": f"{self.delay_ms}ms" if self.delay_ms else "",
            "drop": self.drop,
            "function": self.function,
        }
        words = [f"{name} {value}" for name, value in said.items() if value]
        return ", ".join([*words, *(["throttle"] if self.throttle else [])])

    @property
    def only_delays(self) -> bool:
        """Whether the call is merely delayed."""
        return not (self.error or self.drop or self.throttle or self.function)


@frozen
class Rule:
    """A fault: the calls it matches, its effect, and how many of them get it (``times`` None: all)."""

    match: Match
    effect: Effect
    after: int = 0
    times: int | None = None
    probability: float = 1.0
    seed: int = 0

    def strikes(self, number: int, struck: int) -> bool:
        """Whether call *number* (from 0) of those matched gets the effect, after *struck* calls that got it."""
        if number < self.after or (self.times is not None and struck >= self.times):
            return False
        return self.probability >= 1.0 or draw(self.seed, number) < self.probability


def draw(seed: int, number: int) -> float:
    """Return the draw *number* of a series of numbers in [0, 1), always the same for a *seed*."""
    digest = hashlib.sha256(f"{seed}/{number}".encode()).digest()
    return int.from_bytes(digest[:7], "big") / 2.0**56


class Entry:
    """A rule in the book, with how many calls it has matched and injected its effect into (``struck``)."""

    __slots__ = ("id", "matched", "rule", "struck")

    def __init__(self, id: str, rule: Rule) -> None:
        self.id = id
        self.rule = rule
        self.matched = 0
        self.struck = 0

    def take(self, subject: Subject) -> Effect | None:
        """Count a call if the rule matches it; return the effect to inject, None for none."""
        if not self.rule.match.fits(subject):
            return None
        number = self.matched
        self.matched += 1
        if not self.rule.strikes(number, self.struck):
            return None
        self.struck += 1
        return self.rule.effect


class FaultBook:
    """All rules, oldest first. Rules that break functions apply when a function runs, the others before the call."""

    def __init__(self) -> None:
        self._entries: dict[str, Entry] = {}
        self._added = 0

    def __iter__(self) -> Iterator[Entry]:
        return iter(self._entries.values())

    def __len__(self) -> int:
        return len(self._entries)

    def add(self, rule: Rule) -> str:
        """Add a rule and return its id.

        Raises: LabError (LimitExceeded).
        """
        if len(self._entries) >= MOST_RULES:
            raise LabError("LimitExceeded", most=MOST_RULES, what="faults")
        self._added += 1
        name = f"fault-{self._added}"
        self._entries[name] = Entry(name, rule)
        return name

    def remove(self, name: str) -> None:
        """Remove a rule.

        Raises: LabError (NotFound).
        """
        if self._entries.pop(name, None) is None:
            raise LabError("NotFound", what="fault", name=name)

    def clear(self) -> int:
        """Remove all rules and return how many there were."""
        number = len(self._entries)
        self._entries.clear()
        return number

    def take(self, subject: Subject, *, running: bool = False, instant: bool = False) -> Effect | None:
        """Return the effect to inject into a call, or, with *running*, into the function that it runs; None for none.

        An *instant* call cannot be delayed: rules that only delay ignore it.
        """
        for entry in self._entries.values():
            does = entry.rule.effect
            if bool(does.function) is not running or (instant and does.only_delays):
                continue
            if (effect := entry.take(subject)) is not None:
                return effect
        return None


Operations = Callable[[str], Collection[str]]
"""Returns the names of a service's operations; none where they are not known."""

_MISSPELT = 0.9
"""The similarity from which an unknown error code counts as a known one misspelt; others are a user's own."""


def read_rule(
    document: Mapping[str, Any], operations: Operations = lambda service: (), errors: Collection[str] = ()
) -> Rule:
    """Read a fault as the admin API and localyun.yaml have it; it may name resources that are made later.

    *errors* are the codes of all services.

    Raises: LabError (InvalidParameter).
    """
    _only(document, ("match", "do", "after", "times", "probability", "seed"), "a fault")
    probability = document.get("probability")
    probability = 1.0 if probability is None else probability
    if isinstance(probability, bool) or not isinstance(probability, int | float) or not 0 <= probability <= 1:
        raise invalid("probability must be a number from 0 to 1")
    match, effect = _read_match(_object(document, "match"), operations), _read_effect(_object(document, "do"))
    _check_error(effect.error, errors)
    return Rule(
        match=match,
        effect=effect,
        after=_whole(document, "after") or 0,
        times=_whole(document, "times"),
        probability=float(probability),
        seed=_whole(document, "seed") or 0,
    )


def shown_rule(entry: Entry) -> dict[str, Any]:
    """Return a rule as `read_rule` takes it, with its id and how many calls it has ``matched`` and ``struck``."""
    rule, effect = entry.rule, entry.rule.effect
    match = {
        "service": rule.match.service, "operation": rule.match.operation, "resource": rule.match.resource,
        "from": rule.match.origin,
    }  # fmt: skip
    do = {
        "error": effect.error, "status": effect.status, "delay": f"{effect.delay_ms}ms" if effect.delay_ms else "",
        "drop": effect.drop, "throttle": effect.throttle, "function": effect.function,
    }  # fmt: skip
    return {
        "id": entry.id,
        "match": {name: value for name, value in match.items() if value},
        "do": {name: value for name, value in do.items() if value},
        "after": rule.after,
        "times": rule.times,
        "probability": rule.probability,
        "seed": rule.seed,
        "matched": entry.matched,
        "struck": entry.struck,
    }


def _read_match(match: Mapping[str, Any], operations: Operations) -> Match:
    _only(match, ("service", "operation", "resource", "from"), "match")
    for name, value in match.items():
        if value is not None and not isinstance(value, str):
            raise invalid(f"{name} in match must be a text")
    service, origin = match.get("service") or "", match.get("from") or ""
    if service and service not in SERVICES:
        raise invalid(f"there is no service {service!r}; there are {', '.join(SERVICES)}")
    if origin and origin not in ORIGINS:
        raise invalid(f"from must be one of {', '.join(ORIGINS)}")
    operation = match.get("operation") or ""
    _check_operation(service, operation, operations(service))
    return Match(service=service, operation=operation, resource=match.get("resource") or "", origin=origin)


def _check_operation(service: str, wanted: str, known: Collection[str]) -> None:
    """Refuse a name or pattern that fits none of the service's operations."""
    if not wanted or not known or any(fnmatchcase(name.lower(), wanted.lower()) for name in known):
        return
    import difflib  # only needed for this message

    near = difflib.get_close_matches(wanted[:100], known, n=1)
    raise invalid(f"{service} has no operation {wanted!r}" + (f"; did you mean {near[0]}?" if near else ""))


def _check_error(wanted: str, known: Collection[str]) -> None:
    """Refuse a code that is nearly a known one."""
    if not wanted or wanted in known:
        return
    import difflib  # only needed for this message

    if near := difflib.get_close_matches(wanted, known, n=1, cutoff=_MISSPELT):
        raise invalid(f"there is no error {wanted!r}; did you mean {near[0]}?")


def _read_effect(do: Mapping[str, Any]) -> Effect:
    _only(do, ("error", "status", "delay", "drop", "throttle", "function"), "do")
    error, status, throttle = do.get("error") or "", do.get("status") or 0, do.get("throttle") or False
    if not isinstance(error, str) or len(error) > 200 or not error.isascii() or not error.isprintable():
        raise invalid("error must be the code of an error")
    if type(status) is not int or (status and not 400 <= status <= 599):
        raise invalid("status must be a number from 400 to 599")
    if type(throttle) is not bool:
        raise invalid("throttle must be true or false")
    function = do.get("function") or ""
    if function and function not in FUNCTION_FAULTS:
        raise invalid(f"function must be one of {', '.join(FUNCTION_FAULTS)}")
    drops: Mapping[Any, Drop] = {None: "", False: "", True: "before", "": "", "before": "before", "after": "after"}
    drop = do.get("drop")
    if not isinstance(drop, str | bool | None) or drop not in drops:
        raise invalid("drop must be true, before or after")
    effect = Effect(
        error=error, status=status, delay_ms=read_delay(do), drop=drops[drop], throttle=throttle, function=function
    )
    ways = [bool(effect.error), bool(effect.drop), effect.throttle, bool(effect.function)]
    if sum(ways) > 1 or (not any(ways) and not effect.delay_ms):
        raise invalid("do needs exactly one of error, drop, throttle and function, or a delay, which may go with them")
    if effect.function and effect.delay_ms:
        raise invalid("a delay does not go with function: the function itself takes its time")
    if effect.status and not effect.error:
        raise invalid("status goes with error only")
    return effect


def read_delay(members: Mapping[str, Any]) -> int:
    """Return the milliseconds that the member ``delay`` says, 0 without one.

    Raises: LabError (InvalidParameter).
    """
    text = members.get("delay")
    if text is None or text == "":
        return 0
    try:
        return parse_duration(text)
    except (ValueError, TypeError):
        raise invalid("delay must be a duration such as 500ms, 30s or 1h30m") from None


def _object(document: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    value = document.get(name)
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise invalid(f"{name} must be an object")
    return value


def _whole(document: Mapping[str, Any], name: str) -> int | None:
    value = document.get(name)
    if value is None:
        return None
    if type(value) is not int or not 0 <= value < 2**63:
        raise invalid(f"{name} must be a whole number, not less than 0")
    return value


def _only(members: Mapping[str, Any], names: tuple[str, ...], place: str) -> None:
    unknown = [name for name in members if name not in names]
    if unknown:
        raise invalid(f"{place} has no member {unknown[0]!r}; it has {', '.join(names)}")
