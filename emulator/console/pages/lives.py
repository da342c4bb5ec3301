"""Messages: the latest ones with their state, what prevents others from being sent, and the life of one message."""

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from itertools import islice
from typing import Any
from urllib.parse import quote

from flask import Blueprint, render_template, request
from werkzeug.exceptions import NotFound

from emulator.console import life
from emulator.console.life import Reason
from emulator.console.pages.functions import failure
from emulator.console.pages.requests import CAUSES
from emulator.console.searching import MESSAGES, messages
from emulator.console.view import Row, view
from emulator.kernel.errors import ServiceError
from emulator.lab.mocks import Recorded
from emulator.lab.traces import Effect, traces_of, tree
from emulator.services.mns.admin import message_object
from emulator.services.mns.queues.message import Message
from emulator.services.mns.topics.publishing import wants

blueprint = Blueprint("lives", __name__, url_prefix="/messages")

_LOOKED_AT = 1_000
"""The most messages of a queue, and lines of the effect log, that are looked through."""

_PAGE = 100
"""Schedules read at a time."""

_FORMS_OF = 30
"""How many messages of a queue show in which forms bodies are written in it."""

_SHOWN = 30
_DELIVERIES = 100
_REFUSED = 5


@blueprint.get("")
def index() -> str:
    """List the latest messages, each with its state, and what prevents others from being sent."""
    text = request.args.get("q", "").strip()
    present = _Present()
    effects = view().call(view().lab.effects.latest, _LOOKED_AT)
    rows = list(islice(_listed(present, effects, text), _SHOWN))
    return render_template("messages.html", messages=rows, text=text, refused=_refused(), off=_switched_off())


@blueprint.get("/<id>")
def show(id: str) -> str:
    """Show the life of a message, and why it has not arrived."""
    effects = view().call(_effects, id)
    present = _Present()
    found = life.found(tree(effects, effects[0].trace if effects else ""), id)
    if found is None:
        queue = _queue_of(id)
        if not (queue or life.is_known(id, effects)):
            view().admin("GET", f"/trace/{quote(id, safe='')}")  # refuses an id of nothing
            raise NotFound  # it is the id of something else
        found = _unlogged(id, queue), None
        effects = [Effect(0, id, "", {"message_id": id, "queue": queue})] if queue else []
    places = life.places(effects)
    reasons = present.reasons(*found, effects)
    return render_template(
        "message.html",
        id=id,
        place=places.get(id),
        reasons=reasons,
        stations=life.stations(*found, effects, present.calls, failure) + life.coming(reasons),
        body=present.body(id, places.get(id)),
        now=view().now(),
        concerns=_concerns(places.values(), found[1]),
    )


def _concerns(places: Iterable[life.Place], above: Row | None) -> list[str]:
    """Return the names whose changes affect the life of a message: the places of its copies, its sender, calls."""
    names = {f"{each.kind}/{each.name}" for each in places} | {"call"}
    return sorted(names | ({f"execution/{above['id']}"} if above is not None and above["kind"] == "step" else set()))


def _effects(id: str) -> list[Effect]:
    """Return the lines of a message's trace, and lines of other traces about the message or a copy of it."""
    log = view().lab.effects
    about = log.about(id)
    if not about:
        return []
    first = next((each for each in about if id not in (each.fields.get("handled") or ())), about[0])
    own = log.of(str(first.fields.get("cause") or first.trace))
    copies = {copy for each in own for copy in life.places([each])}
    known = dict.fromkeys((id, *copies))
    foreign = [each for copy in islice(known, _SHOWN) for each in log.about(copy) if each.fields.get("handled")]
    return own + foreign


def _queue_of(id: str) -> str:
    """Return the queue that holds a message, "" when none does."""
    return next((queue for queue, message, _ in islice(messages(view()), MESSAGES) if message == id), "")


def _unlogged(id: str, queue: str) -> Row:
    """Return a node for a message that is in its queue but no longer in the log."""
    at = view().now()
    return {
        "kind": "message", "id": id, "name": queue, "status": "", "failed": False, "at_ms": at, "children": [],
    }  # fmt: skip


def _listed(present: "_Present", effects: Sequence[Effect], text: str) -> Iterator[Row]:
    """Yield the latest messages that were sent or published, newest first, with their first reasons."""
    places = life.places(effects)
    traces = {id: each.trace for each in reversed(effects) for id in life.places([each])}
    lines: dict[str, list[Effect]] = {}
    for each in effects:
        for trace in traces_of(each):
            lines.setdefault(trace, []).append(each)
    trees: dict[str, tuple[list[Row], list[Effect]]] = {}
    handled: dict[str, list[Effect]] = {}
    for each in effects:
        for id in each.fields.get("handled") or ():
            handled.setdefault(id, []).append(each)
    for id in reversed(places):
        if text and text.lower() not in f"{id} {places[id].name}".lower():
            continue
        trace = traces[id]
        if trace not in trees:
            own = lines.get(trace, [])
            trees[trace] = tree(own, trace), own
        found = life.found(trees[trace][0], id)
        if found is None or (found[1] or {}).get("kind") in {"push", "message"}:
            continue  # the copy is shown in the life of the original message
        ids = (node["id"] for node, _ in life.walked(found[0]))
        reasons = present.reasons(*found, [*trees[trace][1], *(line for each in ids for line in handled.get(each, ()))])
        yield {"id": id, "at": found[0]["at_ms"], "place": places[id], "reasons": reasons[:3]}


def _refused() -> list[Row]:
    """Return the latest refused requests of the message service, from which no message came."""
    refused = view().journal.latest("emulator.access", lambda said: said.get("service") == "mns" and "refused" in said)
    return [
        {"time": each["time"], "operation": each["operation"], "request": each["request"], "sentence": _cause(each)}
        for each in view().call(lambda: list(islice(refused, _REFUSED)))
    ]


def _cause(line: Row) -> str:
    try:
        refusal = view().admin("GET", f"/refused/{quote(str(line['request']), safe='')}")
    except ServiceError:
        return ""
    return CAUSES.get(refusal["cause"], "")


def _switched_off() -> list[Row]:
    """Return schedules and triggers that are switched off or wait for a missing resource, up to a limit."""
    rows = list(islice(_schedules_off(), _SHOWN))
    for each in view().call(view().function_admin.idle_triggers, _SHOWN):
        name = f"{each['function']} {each['trigger']}"
        rows.append({"kind": "trigger", "name": name, "waits": each["waitsFor"], "of": each["function"]})
    return rows


def _schedules_off() -> Iterator[Row]:
    """Yield schedules that are switched off, among the first `_LOOKED_AT`."""
    marker: str | None = ""
    for _ in range(_LOOKED_AT // _PAGE):
        if marker is None:
            break
        page = view().call(view().workflow.schedules.all, view().tenant, _PAGE, marker)
        for flow, each, _next in page.items:
            if not each.settings.enabled:
                yield {"kind": "schedule", "name": f"{flow}/{each.name}", "waits": ""}
        marker = page.next_marker


class _Present:
    """The present state of queues, subscriptions and functions, each asked of the services once."""

    def __init__(self) -> None:
        self._queues: dict[str, _Contents] = {}
        self._delivered: dict[tuple[str, str], dict[str, Row]] = {}
        self.calls: dict[str, list[Recorded]] = {}
        for call in view().call(list, view().bench.calls):
            self.calls.setdefault(call.request_id, []).append(call)
        self._coming = view().clock()["next"]

    def reasons(self, node: Row, above: Row | None, effects: Sequence[Effect]) -> list[Reason]:
        """Return why a message is where it is, the most severe reason first."""
        place = life.places(effects).get(node["id"])
        found = list(self._of_step(above))
        if place is not None and place.kind == "topic":
            found += self._of_topic(node, place.name, effects)
        else:
            found += self._of_queue(node, place.name if place is not None else "", effects)
        return sorted(found, key=lambda each: life.TONES.index(each.words.tone))

    def body(self, id: str, place: life.Place | None) -> str | None:
        """Return the body of a message that is in its queue, else None."""
        row = self._in_queue(place.name).get(id) if place is not None and place.kind == "queue" else None
        return None if row is None else str(row["MessageBody"])

    def _of_step(self, above: Row | None) -> Iterator[Reason]:
        """Yield a reason if the step that sent the message waits for a report."""
        if above is None or above["kind"] != "step":
            return
        flow, _, execution = above["id"].partition("/")
        tokens = _asked(view().workflow.tokens, view().tenant, flow, execution) or []
        if above["name"] in (step for step, _ in tokens):
            yield Reason(what="report awaited", kind="execution", name=above["id"], detail=above["name"])

    def _of_queue(self, node: Row, queue: str, effects: Sequence[Effect]) -> Iterator[Reason]:
        id = node["id"]
        row = self._in_queue(queue).get(id)
        dead = next((each for each in node["children"] if each["kind"] == "message"), None)
        if row is not None:
            yield self._waiting(row, queue)
            yield from self._encoded(row, queue)
        elif dead is not None:
            target = life.places(effects).get(dead["id"], life.Place("queue", dead["name"])).name
            yield Reason(what="dead letter", kind="queue", name=target, id=dead["id"])
            letter = self._in_queue(target).get(dead["id"])
            yield from self._encoded(letter, target) if letter is not None else ()
        elif (taken := life.taken_by(id, effects)) is not None:
            named = f"{taken.fields['function']} {taken.fields['trigger']}"
            if taken.fields.get("wanted"):
                yield from self._called(node)
            else:
                yield Reason(what="not wanted", kind="function", name=str(taken.fields["function"]), detail=named)
        elif (deleted := life.was_deleted(id, effects)) is not None:
            yield Reason(what="arrived", kind="queue", name=queue, id=str(deleted.fields.get("request")))
        else:
            yield Reason(what="gone", kind="queue", name=queue)

    def _waiting(self, row: Row, queue: str) -> Reason:
        visible = "visible again" if row["DequeueCount"] else "visible"
        what = {"active": visible, "inactive": "in flight", "delayed": "delayed"}[row["State"]]
        if row["Held"]:
            what = "held"
        until = None if row["Held"] else row.get("NextVisibleTime")
        return Reason(what=what, kind="queue", name=queue, until=until)

    def _encoded(self, row: Row, queue: str) -> Iterator[Reason]:
        """Yield a reason if other bodies in the queue are written in another form."""
        own = life.form_of(row["MessageBody"])
        if self._in_queue(queue).forms - {own}:
            yield Reason(what="encoding", kind="queue", name=queue, detail=own)

    def _of_topic(self, node: Row, topic: str, effects: Sequence[Effect]) -> Iterator[Reason]:
        subscriptions = _asked(view().messages.subscriptions.all, view().tenant, topic) or []
        tag = life.tag_of(effects, node["id"])
        if not subscriptions:
            yield Reason(what="no subscriber", kind="topic", name=topic)
        for each in subscriptions[:_SHOWN]:
            named = f"{topic}/{each.name}"
            delivery = self._deliveries(topic, each.name).get(node["id"])
            pushes = [push for push in node["children"] if push["kind"] == "push" and push["name"] == named]
            if delivery is not None and delivery["State"] != "delivered":
                yield _undelivered(delivery, named)
            elif pushes:
                yield from self._pushed(pushes[-1], named, effects)
            elif not wants(each.settings.filter_tag, tag or None):
                differs = f"{each.settings.filter_tag} ≠ {tag or '∅'}"
                yield Reason(what="filter tag", kind="push", name=named, detail=differs)

    def _pushed(self, push: Row, named: str, effects: Sequence[Effect]) -> Iterator[Reason]:
        """Yield the reasons for a message delivered to a subscriber: a queue's, a function's, or the delivery's."""
        copies = [each for each in push["children"] if each["kind"] == "message"]
        for each in copies:
            place = life.places(effects).get(each["id"])
            yield from self._of_queue(each, place.name if place is not None else "", effects)
        if not copies:
            yield from self._called(push, Reason(what="arrived", kind="push", name=named))

    def _called(self, node: Row, otherwise: Reason | None = None) -> Iterator[Reason]:
        """Yield the results of the function calls below a node; *otherwise* when there are none."""
        calls = [each for each, _ in life.walked(node) if each["kind"] == "call"]
        for each in calls:
            attempts = self.calls.get(each["id"])
            if not attempts:
                ended = "function raised" if each["failed"] else "arrived"
                what = ended if each["status"] else "under way"
                yield Reason(what=what, kind="function", name=each["name"], id=each["id"])
                continue
            call = attempts[-1]
            yield life.of_call(call, failure(call), self._next_call(call.name) if call.error_type else None)
        if not calls:
            yield otherwise or Reason(what="under way")

    def _next_call(self, function: str) -> int | None:
        """Return when an asynchronous call of a function is retried, None when none is."""
        return next(
            (each["to_ms"] for each in self._coming if each["resource"] == function and "asynchronous" in each["what"]),
            None,
        )

    def _in_queue(self, queue: str) -> "_Contents":
        """Return the messages of a queue; none if the queue does not exist."""
        if queue not in self._queues:
            self._queues[queue] = _Contents((_asked(_waiting_in, queue) or []) if queue else [])
        return self._queues[queue]

    def _deliveries(self, topic: str, subscription: str) -> dict[str, Row]:
        """Return the latest deliveries of a subscription by message."""
        key = topic, subscription
        if key not in self._delivered:
            listed = _answered("/deliveries", topic=topic, subscription=subscription, limit=_DELIVERIES)
            self._delivered[key] = {each["MessageId"]: each for each in reversed(listed["deliveries"])}
        return self._delivered[key]


def _waiting_in(queue: str) -> list[Message]:
    service = view().messages
    return service.messages.listed(service.find(view().tenant, queue), _LOOKED_AT)


class _Contents:
    """The messages in a queue."""

    def __init__(self, messages: Iterable[Message]) -> None:
        self._messages = {each.message_id: each for each in messages}

    def get(self, id: str) -> Row | None:
        """Return a message as the admin API shows it, None when it is not in the queue."""
        message = self._messages.get(id)
        return None if message is None else message_object(message, view().now())

    @cached_property
    def forms(self) -> frozenset[str]:
        """The forms in which the bodies of the first messages are written."""
        return frozenset(life.form_of(each.body) for each in islice(self._messages.values(), _FORMS_OF))


def _undelivered(delivery: Row, named: str) -> Reason:
    detail, id = delivery["LastResult"], f"{named}/{delivery['MessageId']}"
    if delivery["State"] != "pending":
        return Reason(what="push given up", kind="push", name=named, detail=detail, id=id)
    what = "push refused" if delivery["Attempts"] else "under way"
    return Reason(what=what, kind="push", name=named, detail=detail, until=delivery.get("NextTime"), id=id)


def _answered(path: str, **arguments: Any) -> Row:
    """Return the answer of an admin operation, with empty lists when its subject does not exist."""
    try:
        answer: Row = view().admin("GET", path, **arguments)
    except ServiceError:
        return {"messages": [], "deliveries": []}
    return answer


def _asked(function: Any, *arguments: Any) -> Any:
    """Return the result of a service's method, None when its subject does not exist."""
    try:
        return view().call(function, *arguments)
    except ServiceError:
        return None
