"""Which instance a session gets: its own, or one that has room.

A `Seat` is empty, or in one instance that all calls of its session go to. A call without a session never looks here.
"""

from collections.abc import Iterable

from emulator.services.fc.runtime.instance import Instance
from emulator.services.fc.runtime.model import FunctionImage, InstancesExhausted, InstanceStartFailed, SeatBusy


class Seat:
    """A session's place in an instance. ``most`` is how many instances its function may have, None for no limit.

    ``session`` is the session's id, for errors. ``instance`` is the instance it is bound to, set by the pool. A seat
    that is ``given_up`` is never bound again: a call that loses its instance must not take one that nobody gives back.
    """

    __slots__ = ("given_up", "instance", "most", "session")

    def __init__(self, session: str = "", most: int | None = None) -> None:
        self.session = session
        self.most = most
        self.given_up = False
        self.instance: Instance | None = None

    @property
    def instance_id(self) -> str:
        """The id of the instance it is bound to, empty for none."""
        return "" if self.instance is None else self.instance.instance_id

    @property
    def image(self) -> FunctionImage | None:
        """The image of its instance; None when it has none, or one that has ended or is retired."""
        held = self.instance
        return held.image if held is not None and held.alive and not held.retired else None

    def take(self, instance: Instance) -> None:
        """Bind the seat to *instance*, which takes no other session from now on if its image is ``exclusive``."""
        self.instance = instance
        instance.seats.add(self)
        if instance.image.exclusive:
            instance.closed = True

    def leave(self) -> None:
        """Unbind the seat from its instance, if it has one."""
        if self.instance is not None:
            self.instance.seats.discard(self)
            self.instance = None


def place_for(seat: Seat, image: FunctionImage, warm: Iterable[Instance]) -> Instance | None:
    """Return where the next call of *seat* goes: to its instance, or to one of the *warm* that has room for a session.

    None means that another instance is needed.

    Raises: SeatBusy when its instance can take no further call; InstanceStartFailed for a seat that is given up.
    """
    if seat.given_up:
        raise InstanceStartFailed(f"session '{seat.session}' has ended before its instance took the call")
    held = seat.instance
    if held is not None and (held.retired or not held.alive):
        seat.leave()
    elif held is not None:
        if held.calls >= held.image.instance_concurrency:
            raise SeatBusy(seat.session, held.image.instance_concurrency)
        return held
    for instance in warm:
        if instance.retired or instance.outdated or instance.closed or len(instance.seats) >= image.sessions:
            continue
        if not image.exclusive or not instance.calls:
            return instance
    return None


def check_most(seat: Seat, image: FunctionImage, living: Iterable[Instance]) -> None:
    """Make sure that another instance of a function may be started for *seat*.

    Raises: InstancesExhausted.
    """
    if seat.most is None:
        return
    owner = image.family.rpartition("/")[0]
    if sum(each.image.family.rpartition("/")[0] == owner and not each.retired for each in living) >= seat.most:
        raise InstancesExhausted(seat.most)
