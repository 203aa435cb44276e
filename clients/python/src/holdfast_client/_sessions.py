"""The sessions of a client."""

from __future__ import annotations

from collections.abc import Sized

from ._core import Core
from ._deployment import Deployment
from ._key import shard_of
from ._session import Rights, Session, SessionTerms

# For how many lengths of leases a client has sessions.
MAX_TTLS = 16


class Sessions:
    """The sessions of a client: at most one for each shard and TTL at a time. A single lock needs none."""

    def __init__(self, core: Core, deployment: Deployment, held: Sized, *, enabled: bool) -> None:
        """Have no session yet. held are the leases of the client; without enabled there is never a session."""
        self._core = core
        self._deployment = deployment
        self._held = held
        self._enabled = enabled
        self._rights = Rights()
        self._current: dict[SessionTerms, Session] = {}

    def of(self, key: str, ttl: float, secret: str | None) -> Session | None:
        """Return the session that an extension of a lease is to name; None: none."""
        features = self._deployment.features
        if not self._enabled or len(self._held) < 2 or "sessions" not in features or self._rights.refused():
            return None
        terms = SessionTerms(shard_of(key, self._deployment.shards), ttl, secret)
        session = self._current.get(terms)
        if session is None and len({t.ttl for t in self._current} | {ttl}) <= MAX_TTLS:
            keep_secret = secret if "keep_secret" in features else None
            session = self._current[terms] = Session(self._core, self._rights, terms, keep_secret, self._drop)
        return session

    def all(self) -> list[Session]:
        """Return the sessions that are not over."""
        return list(self._current.values())

    def forsake(self, key: str) -> None:
        """Let the sessions run out that the lease of a key may be in, because it could not be given back.

        Their other leases move to new sessions.
        """
        for session in self.all():
            if session.terms.shard == shard_of(key, self._deployment.shards):
                session.close()

    def refuse(self) -> None:
        """Begin no session for a time."""
        self._rights.refuse()

    def reconnected(self) -> None:
        """Send again at once what may have been lost with the last connection."""
        for session in self.all():
            session.reconnected()

    def _drop(self, session: Session) -> None:
        if self._current.get(session.terms) is session:
            del self._current[session.terms]
