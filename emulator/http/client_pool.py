"""Connections of the HTTP client between two calls."""

import asyncio
from collections import deque
from typing import NamedTuple

from emulator.http.client_connection import ClientConnection
from emulator.http.outgoing import Origin


class PoolKey(NamedTuple):
    """Calls with the same key can share a connection."""

    origin: Origin
    connect_to: tuple[str, int] | None


class ConnectionPool:
    """Keeps idle connections: at most *per_key* for one key and *total* in all, each for *idle_s* seconds."""

    def __init__(self, *, idle_s: float, per_key: int, total: int) -> None:
        self._idle_s = idle_s
        self._per_key = per_key
        self._total = total
        self._kept: dict[PoolKey, deque[ClientConnection]] = {}
        self._count = 0
        self._closed = False
        self._sweeper: asyncio.TimerHandle | None = None

    def __len__(self) -> int:
        return self._count

    def take(self, key: PoolKey) -> ClientConnection | None:
        """Return the connection used last, if one is still open; it is no longer kept."""
        kept = self._kept.get(key)
        while kept:
            connection = kept.pop()
            self._count -= 1
            if not kept:
                del self._kept[key]
            if connection.reusable:
                return connection
            connection.close()
        return None

    def give_back(self, key: PoolKey, connection: ClientConnection) -> None:
        """Keep *connection* for the next call, or close it when it cannot be used again or there are enough."""
        kept = self._kept.get(key)
        if (
            self._closed
            or not connection.reusable
            or self._count >= self._total
            or (kept is not None and len(kept) >= self._per_key)
        ):
            connection.close()
            return
        loop = asyncio.get_running_loop()
        connection.idle_since = loop.time()
        self._kept.setdefault(key, deque()).append(connection)
        self._count += 1
        if self._sweeper is None:
            self._sweeper = loop.call_later(self._idle_s, self._sweep)

    def close(self) -> None:
        """Close what is kept and keep nothing more."""
        self._closed = True
        self._drop_idle(float("inf"))
        if self._sweeper is not None:
            self._sweeper.cancel()
            self._sweeper = None

    def _sweep(self) -> None:
        loop = asyncio.get_running_loop()
        self._sweeper = None
        self._drop_idle(loop.time() - self._idle_s)
        if self._kept:
            oldest = min(kept[0].idle_since for kept in self._kept.values())
            self._sweeper = loop.call_at(oldest + self._idle_s, self._sweep)

    def _drop_idle(self, since: float) -> None:
        """Close connections that have been idle since *since* or longer; the oldest stand first."""
        for key, kept in list(self._kept.items()):
            while kept and kept[0].idle_since <= since:
                kept.popleft().close()
                self._count -= 1
            if not kept:
                del self._kept[key]
