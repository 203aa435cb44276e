"""The sessions of a client."""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import _clock
from ._names import shard_of
from ._sender import Answer
from ._session import Session, SessionTerms

if TYPE_CHECKING:
    from ._core import Core
    from ._holding import Holding

# For how many lengths of leases a client has sessions.
MOST_TTLS = 16
# How long no session is begun after the service has refused one, or has answered none, in seconds. The time doubles.
LEAST_REFUSAL = 60.0
MOST_REFUSAL = 3600.0


class Sessions:
    """The sessions of a client: at most one for each shard and TTL at a time. A single lock needs none.

    Attributes:
        proven: a keep was answered, so the user may send them.
        may_end: the end of a session was answered, so the user may ask for it.
    """

    def __init__(self, core: Core) -> None:
        self._core = core
        self._current: dict[SessionTerms, Session] = {}
        self.proven = False
        self.may_end = False
        self._refused = 0.0
        self._refusal = 0.0

    def of(self, holding: Holding) -> Session | None:
        """Return the session that an extension of the lease is to name; None: none."""
        core = self._core
        if not core.use_sessions or not holding.terms.renew or len(core.holdings) < 2:
            return None
        if "sessions" not in core.deployment.features or _clock.now() < self._refused:
            return None
        terms = SessionTerms(shard_of(holding.key, core.deployment.shards), holding.extensions.asked, holding.secret)
        session = self._current.get(terms)
        if session is None and len({t.ttl for t in self._current} | {terms.ttl}) <= MOST_TTLS:
            session = self._current[terms] = Session(core, self, terms)
        return session

    def all(self) -> list[Session]:
        """Return the sessions that are not over."""
        return list(self._current.values())

    def drop(self, session: Session) -> None:
        """Forget a session that is over."""
        if self._current.get(session.terms) is session:
            del self._current[session.terms]

    def prove(self) -> None:
        """Take in that a keep was answered."""
        self.proven = True
        self._refusal = 0.0

    def refuse(self) -> None:
        """Have no session begin for a time."""
        self._refusal = min(max(2 * self._refusal, LEAST_REFUSAL), MOST_REFUSAL)
        self._refused = _clock.now() + self._refusal

    def ended(self, a: Answer) -> None:
        """Take the answer to the end of a session in that there is not."""
        if a.status == "NOT_HELD":
            self.may_end = True

    def reconnected(self) -> None:
        """Ask at once for what may have been lost with the last connection."""
        for session in self.all():
            session.reconnected()
