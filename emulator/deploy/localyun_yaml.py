"""Queues, topics and subscriptions of ``localyun.yaml``: checked, then created or changed at every start.

Mistakes visible in the file alone are refused before anything is created. Existing resources get the attributes in the
file where they differ; other attributes and other resources are left alone.
"""

import json
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager

from emulator.config import Config, ConfigError, all_of, placed
from emulator.deploy.model import Problem
from emulator.deploy.places import Findings, LocatedValue
from emulator.kernel.errors import ServiceError
from emulator.kernel.frozen import frozen
from emulator.kernel.identity import Tenant
from emulator.kernel.phrases import Phrase, phrase
from emulator.kernel.spelling import suggestion
from emulator.services.mns.errors import MnsError, QueueNotExist, SubscriptionNotExist, TopicNotExist
from emulator.services.mns.limits import RELAXED
from emulator.services.mns.management.codec import PARAMETERS
from emulator.services.mns.queues.catalog import Queues
from emulator.services.mns.queues.model import QUEUE, Change, check_queue_name, check_ranges, settled
from emulator.services.mns.service import MessageService
from emulator.services.mns.topics.catalog import Topics
from emulator.services.mns.topics.model import SUBSCRIPTION, TOPIC, SubscriptionSettings, queue_endpoint, read_endpoint
from emulator.services.workflow.engine.language import DefinitionError
from emulator.wire.rpc import InvalidParameter
from emulator.wire.schema.kinds import ABSENT, Field, Shape, Whole

FILE = PARAMETERS.of_form("file")
"""The form of attributes in the file; docs/configuration.md lists them."""

_SUBSCRIPTIONS = "subscriptions"
_DEAD_LETTERS = tuple(
    member.name for each in QUEUE.of_form("file") if isinstance(each.kind, Shape) for member in each.kind
)

_SHORT = "queue:"


@frozen
class Declared:
    """A queue, topic or subscription with the settings in the file, and a topic's subscriptions."""

    part: LocatedValue
    change: Change
    subscriptions: "tuple[Declared, ...]" = ()


class Declarations:
    """The messaging resources in a file, for one tenant; problems go to the findings of *root*, the whole file."""

    def __init__(self, root: LocatedValue, tenant: Tenant) -> None:
        self._tenant = tenant
        queues = _resources(root.member("queues"), Phrase("must have queue names below it, each followed by ': '"))
        topics = _resources(root.member("topics"), Phrase("must have topic names below it, each followed by ': '"))
        self._queues = [_declared(part, QUEUE, tenant) for part in queues]
        self._topics = [_declared(part, TOPIC, tenant) for part in topics]

    def apply(self, service: MessageService) -> None:
        """Create missing resources and change those that differ.

        Raises: ConfigError for a declaration that contradicts an existing resource.
        """
        queues, topics = service.queues, service.topics
        for queue in self._queues:
            self._apply(queue, "queue", queues, lambda name: queues.view(self._tenant, name).queue.settings)
        for topic in self._topics:
            self._apply(topic, "topic", topics, lambda name: topics.view(self._tenant, name).topic.settings)
            for subscription in topic.subscriptions:
                with raised(subscription.part):
                    self._apply_subscription(subscription, topic.part.name, service)

    def _apply(
        self, declared: Declared, kind: str, catalog: Queues | Topics, settings: Callable[[str], object]
    ) -> None:
        """Create or change a queue or topic; *settings* returns those of the existing one."""
        name = declared.part.name
        with raised(declared.part):
            try:
                before = settings(name)
            except (QueueNotExist, TopicNotExist):
                catalog.create(self._tenant, name, declared.change)
                return
            change = _differing(declared.change, before)
            if "fifo" in change:
                attribute = f"{kind.title()}Type"
                reason = (
                    "the {kind} exists and its {attribute} cannot be changed: start without these lines, delete the "
                    "{kind}, and start with them again"
                )
                raise _error(declared.part, Phrase(reason, kind=Phrase(kind), attribute=attribute))
            if change:
                catalog.change(self._tenant, name, change)

    def _apply_subscription(self, declared: Declared, topic: str, service: MessageService) -> None:
        """Create or change a subscription; to change endpoint or format, it is created again."""
        name, wanted = declared.part.name, SubscriptionSettings(**declared.change)
        try:
            before = service.subscriptions.get(self._tenant, topic, name).settings
        except SubscriptionNotExist:
            service.subscriptions.create(self._tenant, topic, name, wanted)
            return
        change = _differing(declared.change, before)
        if "endpoint" in change or "content_format" in change:
            service.subscriptions.delete(self._tenant, topic, name)
            service.subscriptions.create(self._tenant, topic, name, wanted)
        elif change:
            service.subscriptions.change(self._tenant, topic, name, change)


def root_of(config: Config) -> LocatedValue:
    """Return the resources section of the configuration, with places."""
    return LocatedValue(config.resources, (), config.resource_marks, Findings())


def check(findings: Findings) -> None:
    """Check that the file has no problems.

    Raises: ConfigError with every problem.
    """
    if findings.problems:
        problems = sorted(findings.problems, key=lambda problem: (problem.line, problem.column))
        raise all_of([placed((each.line, each.column), each.text) for each in problems])


def _differing(change: Change, before: object) -> Change:
    """Return the settings in *change* that differ from those before."""
    return {field: value for field, value in change.items() if getattr(before, field) != value}


def _error(part: LocatedValue, reason: str) -> ConfigError:
    return ConfigError(placed(part.mark, Phrase("{name}: {problem}", name=".".join(part.path), problem=phrase(reason))))


@contextmanager
def raised(part: LocatedValue, file: str = "") -> Iterator[None]:
    """Turn errors of the service in the context into a ConfigError about *part*, whose definition is in *file*."""
    try:
        yield
    except ServiceError as error:
        mistake = error.__cause__
        if file and isinstance(mistake, DefinitionError):
            raise _error(part, Problem(mistake.line, mistake.column, mistake.sentence).within(file)) from None
        raise _error(part, error.message) from None


@contextmanager
def _noted(part: LocatedValue, field: Field) -> Iterator[None]:
    """Turn errors of the service in the context into a problem of *part*."""
    try:
        yield
    except InvalidParameter:
        part.problem(
            Phrase("must be a whole number from {low} to {high}", low=field.kind.low, high=field.kind.high)
            if isinstance(field.kind, Whole)
            else Phrase("{part} is not a value for this attribute", part=_text(part))
        )
    except MnsError as error:
        part.problem(error.message)


def _declared(part: LocatedValue, table: Shape, tenant: Tenant) -> Declared:
    _check_name(part)
    change: Change = {}
    subscriptions: list[LocatedValue] = []
    others = (_SUBSCRIPTIONS,) if table is TOPIC else ()
    what = Phrase("must have attributes below it, each followed by ': ' and a value")
    known = {each.name: each for each in table.of_form("file")}
    for name, member in _members(part, what, [*known, *others]).items():
        if name in others:
            subscriptions = [
                each
                for each in _resources(member, Phrase("must have subscription names below it, each followed by ': '"))
                if _has_endpoint(each)
            ]
            continue
        with _noted(member, known[name]):
            own = _read(known[name], member)
            if table is QUEUE:
                own = settled(own, part.name)
            elif table is TOPIC:
                check_ranges(TOPIC, own)
            elif "endpoint" in own:
                own["endpoint"] = _endpoint(own["endpoint"], tenant)
            change |= own
    inner = tuple(_declared(each, SUBSCRIPTION, tenant) for each in subscriptions)
    return Declared(part=part, change=change, subscriptions=inner)


def _read(field: Field, part: LocatedValue) -> Change:
    """Return the setting; a dead-letter policy in the file is enabled unless it says otherwise.

    Raises: MnsError, InvalidParameter.
    """
    value: object = None
    if not isinstance(field.kind, Shape):
        value = _text(part)
    else:
        members = _members(
            part, Phrase("must be a map of Enabled, DeadLetterTargetQueue and MaxReceiveCount"), _DEAD_LETTERS
        )
        if isinstance(part.value, dict) and len(members) == len(part.value):  # otherwise reported already
            value = {"Enabled": True, **{name: member.value for name, member in members.items()}}
    setting = FILE.value(field, value)
    return {} if setting is ABSENT else {field.attribute: setting}


def _endpoint(text: str, tenant: Tenant) -> str:
    """Return the endpoint's full form; ``queue:NAME`` is short for a queue of this installation.

    Raises: EndpointInvalid.
    """
    endpoint = queue_endpoint(tenant, text.removeprefix(_SHORT)) if text.startswith(_SHORT) else text
    read_endpoint(endpoint)
    return endpoint


def _check_name(part: LocatedValue) -> None:
    """Check a name; the rules for queues, topics and subscriptions are the same."""
    try:
        check_queue_name(part.name, RELAXED)
    except MnsError:
        text = (
            "a name consists of letters, digits and hyphens and begins with a letter or digit; "
            "it has at most {most} characters"
        )
        part.problem(Phrase(text, most=RELAXED.queue_name_length))


def _has_endpoint(part: LocatedValue) -> bool:
    if (isinstance(part.value, dict) and "Endpoint" not in part.value) or part.value is None:
        part.problem("needs an Endpoint")
        return False
    return True


def _entries(part: LocatedValue, what: Phrase) -> list[LocatedValue]:
    """Return the members of a mapping; none for an empty value; any other value is the problem *what*."""
    if part.value is not None and not isinstance(part.value, dict):
        part.problem(what)
        return []
    return part.entries()


def _resources(part: LocatedValue, what: Phrase) -> list[LocatedValue]:
    """Return the resources of a kind, given by a mapping or a list."""
    return _entries(part.named(), what)


def _members(part: LocatedValue, what: Phrase, allowed: Iterable[str]) -> dict[str, LocatedValue]:
    """Return the members of a mapping that have a value and are *allowed*; the others are problems."""
    names = list(allowed)
    known = {}
    for member in _entries(part, what):
        if member.name not in names:
            member.problem("there is no such attribute", suggestion(member.name, names))
        elif member.value is None and member.name != _SUBSCRIPTIONS:
            member.problem("needs a value")
        else:
            known[member.name] = member
    return known


def _text(part: LocatedValue) -> str:
    """Return the value as the API's parameters have it: texts as written, other values as JSON."""
    return part.value if isinstance(part.value, str) else json.dumps(part.value)
