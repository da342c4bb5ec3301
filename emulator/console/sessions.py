"""Who may use the console: a link that works once and for a minute, then a cookie, and a token in every form."""

import hmac
from hashlib import sha256

from emulator.kernel.clock import Clock
from emulator.kernel.ids import Ids

LINK_S = 60
"""How long a link works."""

SESSION_S = 7 * 24 * 3600
"""How long a cookie is good, at most until the emulator stops."""

_MOST = 1_000


class Sessions:
    """Links and cookies of one run of the emulator; nothing of them is stored. Times are real, not the emulator's."""

    def __init__(self, clock: Clock, ids: Ids, port: int) -> None:
        self._clock = clock
        self._ids = ids
        self._secret = ids.secret(32)
        self._links: dict[str, float] = {}
        self._sessions: dict[str, float] = {}
        self.cookie_name = f"localyun_console_{port}"
        """Cookies do not tell ports apart, so two emulators on one machine need two names."""

    def new_link(self) -> str:
        """Return the key of a link that opens the console once."""
        now = self._clock.monotonic()
        self._links = {key: until for key, until in self._links.items() if until > now}
        key = self._ids.secret(24).hex()
        self._links[key] = now + LINK_S
        return key

    def enter(self, key: str) -> str | None:
        """Use a link up and return the value of a new cookie; None when the link is unknown, used or too old."""
        now = self._clock.monotonic()
        if self._links.pop(key, 0.0) <= now:
            return None
        self._sessions = {value: until for value, until in self._sessions.items() if until > now}
        if len(self._sessions) >= _MOST:
            self._sessions.clear()
        value = self._ids.secret(32).hex()
        self._sessions[value] = now + SESSION_S
        return value

    def is_open(self, cookies: str) -> str | None:
        """Return the session that a Cookie header names, None when it names none that is open."""
        for part in cookies.split(";"):
            name, _, value = part.strip().partition("=")
            if name == self.cookie_name and self._sessions.get(value, 0.0) > self._clock.monotonic():
                return value
        return None

    def form_token(self, session: str) -> str:
        """Return the token that forms of a session carry against posts of other sites."""
        return hmac.new(self._secret, session.encode(), sha256).hexdigest()

    def is_form_token(self, session: str, token: str) -> bool:
        """Whether *token* is that of *session*."""
        return hmac.compare_digest(self.form_token(session).encode(), token.encode("utf-8", "replace"))
