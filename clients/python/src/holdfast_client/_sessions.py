"""The sessions of a client."""

from __future__ import annotations

from collections.abc import Callable, Sized

from ._core import Core
from ._deployment import Deployment
from ._session import Rights, Session, SessionTerms

# For how many lengths of leases a client has sessions.
MAX_TTLS = 16


class Sessions:
    """The sessions of a client: at most one for each shard and TTL.

    A single lock has one only for notices, and if it is to end with the connection.

    Attributes:
        disconnect: for how many seconds the client may not be connected; 0: without a bound.
    """

    def __init__(
        self,
        core: Core,
        deployment: Deployment,
        held: Sized,
        wanted: Callable[[list[str]], None],
        *,
        enabled: bool,
        disconnect: float = 0.0,
    ) -> None:
        """Have no session yet.

        Args:
            core: the requests of the client.
            deployment: what it has sessions of.
            held: the leases of the client.
            wanted: receives the resources for which others wait, as keeps are answered.
            enabled: without it there is never a session.
            disconnect: for how many seconds the client may not be connected, after which its leases may end; 0: they
                do not end because of that.
        """
        self._core = core
        self._deployment = deployment
        self._held = held
        self._wanted = wanted
        self._enabled = enabled
        self.disconnect = disconnect
        self._rights = Rights()
        self._current: dict[SessionTerms, Session] = {}

    def of(self, key: str, ttl: float, secret: str | None, notices: bool) -> Session | None:
        """Return the session that an extension of a lease is to name; None: none.

        With notices it learns that others wait for the lease, and a single lock has a session, too.
        """
        features = self._deployment.features
        notices = notices and "notices" in features
        few = len(self._held) < 2 and not notices and not self.disconnect
        if not self._enabled or few or "sessions" not in features or self._rights.refused():
            return None
        terms = SessionTerms(self._core.sender.router.shard(key), ttl, secret)
        session = self._current.get(terms)
        if session is None and len({t.ttl for t in self._current} | {ttl}) <= MAX_TTLS:
            keep_secret = secret if "keep_secret" in features else None
            session = self._current[terms] = Session(
                self._core, self._rights, terms, keep_secret, self._drop, self.disconnect
            )
        if session is not None and notices:
            # Through a service import, where there are no batches, the service cannot reach the subject.
            session.listen(self._wanted, self._core.sender.notices if "batch" in features else None)
        return session

    def all(self) -> list[Session]:
        """Return the sessions that are not over."""
        return list(self._current.values())

    def forsake(self, key: str) -> None:
        """Let the sessions run out that the lease of a key may be in, because it could not be given back.

        Their other leases move to new sessions.
        """
        for session in self.all():
            if session.terms.shard == self._core.sender.router.shard(key):
                session.close()

    def divide(self) -> None:
        """Close all sessions, because there are other shards: the leases of one are spread over several.

        Each moves with its next extension, which is soon, into the session of its present shard.
        """
        for session in self.all():
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
