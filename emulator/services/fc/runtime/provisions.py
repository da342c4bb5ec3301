"""Instances kept ready: the wanted number per image, and replacements for those that end."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine, Iterable
from typing import Any

from emulator.kernel.clock import Clock, Millis
from emulator.kernel.frozen import frozen
from emulator.services.fc.runtime.instance import Instance
from emulator.services.fc.runtime.model import Credentials, FunctionImage, RuntimeFailure, Size

_log = logging.getLogger(__name__)

_REPLACE_AFTER_S = 1.0


@frozen
class _Provision:
    """How many instances of an image are kept ready, and the keys they start with."""

    image: FunctionImage
    count: int
    credentials: Credentials | None


class Provisions:
    """Keeps instances of a pool ready.

    *living* returns its instances; *start* starts one of an image that is kept ready, *retire* ends one, after the
    call that it is in; *spawn* runs what nobody waits for.
    """

    def __init__(
        self,
        living: Callable[[], Iterable[Instance]],
        start: Callable[[FunctionImage, Credentials | None], Awaitable[None]],
        retire: Callable[[Instance], None],
        spawn: Callable[[Coroutine[Any, Any, None], str], None],
        clock: Clock,
    ) -> None:
        self._clock = clock
        self._living = living
        self._start = start
        self._retire = retire
        self._spawn = spawn
        self._wanted: dict[str, _Provision] = {}
        self._kept_ms: dict[tuple[str, Size], int] = {}

    def kept_ms(self, now: Millis) -> dict[tuple[str, Size], int]:
        """Return the milliseconds for which instances were kept ready since the start, by function and size."""
        kept = dict(self._kept_ms)
        for instance in self._living():
            if instance.provisioned:
                key = instance.image.label, instance.image.size
                kept[key] = kept.get(key, 0) + max(0, now - instance.started_at)
        return kept

    def given_up(self, instance: Instance, now: Millis) -> None:
        """Add the time for which an instance was kept ready, which it no longer is, to `kept_ms`."""
        key = instance.image.label, instance.image.size
        self._kept_ms[key] = self._kept_ms.get(key, 0) + max(0, now - instance.started_at)

    def clear(self) -> None:
        """Stop keeping instances ready; those that are there belong to the pool."""
        self._wanted.clear()

    def drop(self, family: str) -> None:
        """Stop keeping instances of *family* ready."""
        for key, provision in list(self._wanted.items()):
            if provision.image.family == family:
                del self._wanted[key]

    async def keep(self, image: FunctionImage, count: int, credentials: Credentials | None) -> int:
        """Keep *count* instances of *image* started and initialized; return how many there are now.

        Raises: RuntimeUnavailable; InstanceStartFailed; InstancesExhausted.
        """
        if count <= 0:
            self._wanted.pop(image.key, None)
        else:
            self._wanted[image.key] = _Provision(image=image, count=count, credentials=credentials)
        kept = self._kept(image.key)
        for instance in kept[count:]:
            self.given_up(instance, self._clock.now())
            instance.provisioned = False
            self._retire(instance)
        missing = range(count - len(kept))
        await asyncio.gather(*(self._start(image, credentials) for _ in missing))
        return len(self._kept(image.key))

    def lost(self, instance: Instance) -> None:
        """Replace an instance that has ended, if as many are still wanted."""
        self.given_up(instance, self._clock.now())
        provision = self._wanted.get(instance.image.key)
        if provision is not None:
            self._spawn(self._replace(provision), f"replace {instance.instance_id}")

    async def _replace(self, provision: _Provision) -> None:
        """Bring the number of instances back, after a pause in case they end at once again."""
        await asyncio.sleep(_REPLACE_AFTER_S)
        if self._wanted.get(provision.image.key) is provision:
            try:
                await self.keep(provision.image, provision.count, provision.credentials)
            except RuntimeFailure:
                _log.exception("a provisioned instance of %s is not replaced", provision.image.family)

    def _kept(self, key: str) -> list[Instance]:
        return [
            instance
            for instance in self._living()
            if instance.provisioned and not instance.retired and instance.image.key == key
        ]
