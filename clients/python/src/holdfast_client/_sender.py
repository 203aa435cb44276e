"""Attempts on their way, and their answers."""

from __future__ import annotations

import asyncio
import hashlib
import json
import secrets
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, Protocol, cast

from nats.aio.client import Client as Connection
from nats.aio.msg import Msg
from nats.aio.subscription import Subscription
from nats.errors import Error as NatsError

from . import _clock
from ._alarms import Alarms
from ._batching import Batching, bundle, encode
from ._connect import not_connected
from ._denials import Denials
from ._errors import Invalid, UnavailableReason
from ._key import encode_key
from ._route import Route, Router
from ._window import Window

# How often the connection is looked at, in seconds: while answers are expected, and otherwise.
BUSY_LOOK = 0.1
IDLE_LOOK = 1.0

# How long close waits for what is to be published, in seconds.
LEAVE = 1.0

# These stand in the place of the status of an answer that is none.
NOT_SENT = "NOT_SENT"
DENIED = "DENIED"
NO_RESPONDERS = "NO_RESPONDERS"
GARBLED = "GARBLED"

# The answers that have a lease of the sender.
OWN = ("GRANTED", "EXTENDED", "UPDATED")
# The operations of which an answer has leases of one resource: that of the key.
ABOUT_ONE = ("acquire", "release", "extend", "get", "set")

# How many answers of a batch are taken in at once. What their receivers send then leaves before more are taken in, so
# that the service works at the same time.
AT_ONCE = 32
# The header with the generation of the shards that the service has, in answers on a direct subject of another one.
GENERATION = "Holdfast-Generation"

# What the number of a batch begins with in a reply subject, and that of an attempt does not.
BATCH = "b"


@dataclass(slots=True, eq=False)
class Answer:
    """The answer to one attempt, or why it has none.

    Attributes:
        id: the number of the attempt.
        sent: when it was sent.
        direct: it took the direct route.
        status: that of the reply, or one of the above; empty for a reply that has none, as of info.
        reply: the reply in JSON.
        alone: no other attempt of the request may have had an effect.
    """

    id: int
    sent: float
    direct: bool
    status: str
    reply: dict[str, Any]
    alone: bool = True

    @property
    def lease(self) -> dict[str, Any]:
        """The lease of the reply; empty if there is none."""
        return self.reply.get("lease", {})

    @property
    def order(self) -> int:
        """The highest number among the extends or the sets of the lease; 0: they had none."""
        return int(self.reply.get("order", 0))

    def is_about(self, key: str, owner: str) -> bool:
        """Return whether the reply can be that to a request of an owner about the resource of this key.

        Others may be permitted to publish to the subject of the reply. Malformed leases do not fit.
        """
        try:
            lease, holders = self.lease, self.reply.get("holders", ())
            if lease and encode_key(lease["resource"]) != key:
                return False
            if self.status in OWN:
                return lease["owner"] == owner and int(lease["token"]) > 0
            return all(encode_key(holder["resource"]) == key for holder in holders)
        except (AttributeError, KeyError, TypeError, ValueError, Invalid):
            return False


Receive = Callable[[Answer], None]


@dataclass(slots=True, eq=False)
class Attempt:
    """One request on its way.

    Attributes:
        message: what is asked for, in JSON.
        receive: is called with the answer; None: none is expected.
        queued: it is not published yet.
        batch: the number of the batch in which it was sent; 0: it was sent alone, or not yet.
        denials: the open attempts on its subject at each denial there, shared by all that are open.
    """

    id: int
    route: Route
    message: dict[str, Any]
    receive: Receive | None
    sent: float
    queued: bool = True
    batch: int = 0
    denials: list[set[Any]] = field(default_factory=list[set[Any]])


class Client(Protocol):
    """What a sender reports to."""

    def orphaned(self, lease: dict[str, Any]) -> None:
        """Take in a lease that was granted in an answer that is not expected any more."""
        ...

    def reconnected(self) -> None:
        """Note that the connection is there again after an interruption, or off."""
        ...

    def outdated(self) -> None:
        """Note that what is known of the deployment may be out of date. It is a hint, which may be forged."""
        ...

    def noticed(self, notice: dict[str, Any]) -> None:
        """Take in a message on the subject for notices; it may be anything."""
        ...


class Sender:
    """Sends attempts, each with a reply subject of its own, and hands the answers to their receivers.

    One task publishes all, because the connection may block, and swallows cancellations while it does.

    What is asked for in the same turn of the loop goes together, if the deployment takes batches.

    Attributes:
        router: chooses routes.
        notices: the subject on which notices are received.
        window: bounds how many requests are begun at a time.
        alarms: those of the exchanges under way.
        last: the number of the latest attempt or batch.
        off: no answer comes any more.
        begun: when the sender was made.
        answered: a node has answered.
        deaf: why NATS sends no answers; empty: it does.
    """

    def __init__(self, nc: Connection, prefix: str, owner: str, client: Client) -> None:
        """Make a sender on a connection, of requests in the name of an owner to subjects with a prefix."""
        self.nc = nc
        self._owner = owner
        self.router = Router(prefix)
        self.window = Window()
        self.alarms = Alarms()
        self.last = 0
        self.off = False
        self.begun = _clock.now()
        self.answered = False
        self.deaf = ""
        self._client = client
        # Those that nats-py makes can be guessed from one another.
        self._inbox = f"{nc.new_inbox().rpartition('.')[0]}.{secrets.token_urlsafe(16)}."
        self._secret = secrets.token_bytes(16)
        self.notices = self._inbox + self._name("0")  # no attempt has this number
        self._batching = Batching()
        self._attempts: dict[int, Attempt] = {}
        self._outbox: list[Attempt] = []
        self._ready = asyncio.Event()
        self._stopping = False
        self._subscription: Subscription | None = None
        self._reconnects = nc.stats["reconnects"]
        self._loop = asyncio.get_running_loop()
        self._look_later = self._loop.call_later(IDLE_LOOK, self._look)
        self._publisher = self._loop.create_task(self._publish_all(), name="holdfast publisher")
        self._denials = Denials.reported_to(self, nc)

    def set_deployment(self, shards: int, generation: int, features: Iterable[str]) -> None:
        """Note how many shards the deployment has, of which generation, and what it offers.

        Until then no request takes the direct route to the owner of its shard, and none is sent in a batch.
        """
        self.router.shards, self.router.generation = shards, generation
        self._batching.offer("batch" in features)

    def send(self, route: Route, message: dict[str, Any], receive: Receive | None) -> int:
        """Send one attempt and return its number. It does not block. The message is not to be modified any more.

        receive is called at most once, from the loop, until forget. None: no answer is expected.
        """
        self.last += 1
        attempt = Attempt(self.last, route, message, receive, _clock.now())
        if receive is not None:
            self._attempts[attempt.id] = attempt
        self._outbox.append(attempt)
        self._ready.set()
        return attempt.id

    def detour(self) -> None:
        """Avoid direct routes for a time and try batches anew, because another node has answered where they did not."""
        self.router.avoid()
        self._batching.try_again(anew=False)

    def forget(self, ids: Iterable[int]) -> None:
        """Make the answers to the attempts orphans."""
        for id in ids:
            self._attempts.pop(id, None)

    def is_queued(self, id: int) -> bool:
        """Return whether an attempt waits for the connection to take it."""
        return id in self._attempts and self._attempts[id].queued

    def recall(self, ids: list[int]) -> list[int]:
        """Take back the attempts that have not been published, and return the others."""
        queued = [id for id in ids if self.is_queued(id)]
        self.forget(queued)
        return [id for id in ids if id not in queued]

    def not_connected(self) -> tuple[str, UnavailableReason]:
        """Return why nothing can be sent, with the servers and what the connection last met."""
        return not_connected((server.netloc for server in self.nc.servers), self.nc.last_error)

    def receives(self, subject: str) -> bool:
        """Return whether answers come to a subject, which is in lower case."""
        return subject.startswith(self._inbox.lower())

    def deafen(self, error: str) -> None:
        """Note why NATS sends no answers."""
        self.deaf = error
        self._client.reconnected()  # wakes all that wait

    def published_on(self, subject: str) -> list[Attempt]:
        """Return the open attempts that were published alone on a subject, which is in lower case."""
        alone = [a for a in self._attempts.values() if not a.queued and not a.batch]
        return [a for a in alone if self.router.subject(a.route).lower() == subject]

    def deny(self, subject: str, error: str) -> None:
        """Answer the open attempts on a subject, which NATS has denied."""
        for a in self.published_on(subject):
            self._unsent(a.id, DENIED, {"error": error})

    def _unsent(self, id: int, status: str, reply: dict[str, Any]) -> None:
        a = self._attempts.pop(id, None)
        if a is not None and a.receive is not None:
            a.receive(Answer(id, a.sent, a.route.shard is not None, status, reply))

    def disown(self, a: Answer) -> None:
        """Take in an answer that is not expected any more."""
        if a.status == "GRANTED" and isinstance(a.reply.get("lease"), dict):
            self._client.orphaned(a.reply["lease"])

    async def close(self) -> None:
        """Publish what needs no answer, and take leave of the connection. It is called in a task of the client."""
        self._stopping = True
        self._denials.ignore(self)
        self._look_later.cancel()
        self._ready.set()
        # The connection may take nothing, and swallow the cancellation, too; then the loop ends behind it.
        await asyncio.wait({self._publisher}, timeout=LEAVE)
        self._publisher.cancel()

    def _look(self) -> None:
        # nats-py reports reconnections to callbacks of the application only.
        self._look_later = self._loop.call_later(BUSY_LOOK if self._attempts else IDLE_LOOK, self._look)
        if self.nc.is_closed or self.nc.is_draining:
            if not self.off:
                self.off = True
                self._client.reconnected()
        elif self.nc.is_connected and self._reconnects != self.nc.stats["reconnects"]:
            self._reconnects = self.nc.stats["reconnects"]
            self._batching.try_again(anew=True)
            self.deaf = ""  # the subscription was made anew, and is denied anew if it still is
            self._client.reconnected()

    async def _publish_all(self) -> None:
        try:
            self._subscription = await self.nc.subscribe(self._inbox + "*", cb=self._received)
        except (NatsError, OSError):
            self._look()  # it is closed
        while True:
            await self._ready.wait()
            self._ready.clear()
            outbox, self._outbox = self._outbox, []
            await self._publish_queue(outbox)
            if self._stopping and not self._outbox:
                break
        if self._subscription is not None and not self.nc.is_closed:
            try:
                await self._subscription.unsubscribe()
            except (NatsError, OSError):
                pass  # the connection closes, which does as well

    async def _publish_queue(self, queue: list[Attempt]) -> None:
        # What is for the owner of one shard goes in one message, if batches are taken.
        if len(queue) > 1 and self._batching.must_try():
            await self._try_batch(queue)
        for group in bundle(queue) if self._batching.may() else ([a] for a in queue):
            await self._publish_group(group)

    async def _try_batch(self, queue: list[Attempt]) -> None:
        # The answer to a batch of an empty call, which is INVALID, says that batches are taken.
        shard = next((a.route.shard for a in queue if a.route.shard is not None), None)
        if shard is not None:
            self.last += 1
            await self._publish(self.router.batch(shard), b'{"calls":[{}]}', f"{BATCH}{self.last}")

    async def _publish_group(self, group: list[Attempt]) -> None:
        calls = [a for a in group if a.receive is None or a.id in self._attempts]
        if not calls:
            return
        first, shard = calls[0], calls[0].route.shard
        if len(calls) == 1 or shard is None:
            first.queued = False
            subject, number = self.router.subject(first.route), str(first.id)
            payload = json.dumps(first.message).encode()
        else:
            payload = encode(calls)
            if len(payload) > self.nc.max_payload:
                await self._publish_group(calls[: len(calls) // 2])
                await self._publish_group(calls[len(calls) // 2 :])
                return
            self.last += 1
            subject, number = self.router.batch(shard), f"{BATCH}{self.last}"
            for a in calls:
                a.queued, a.batch = False, self.last
        if not await self._publish(subject, payload, number):
            for a in calls:
                self._unsent(a.id, NOT_SENT, {})

    async def _publish(self, subject: str, payload: bytes, number: str) -> bool:
        try:
            # What is published without a connection would leave at an unknown time.
            if self._subscription is not None and self.nc.is_connected:
                await self.nc.publish(subject, payload, reply=self._inbox + self._name(number))
                return True
        except (NatsError, OSError):
            pass
        return False

    async def _received(self, m: Msg) -> None:
        name = m.subject[len(self._inbox) :]
        number = name.partition("-")[0]
        if name != self._name(number):
            return
        status, reply = _parse(m)
        if m.subject == self.notices:
            self._client.noticed(reply)
            return
        self.answered = self.answered or status != NO_RESPONDERS
        if self.router.is_old((m.headers or {}).get(GENERATION, "")):
            self._client.outdated()
        if number.startswith(BATCH):
            await self._answered_batch(int(number[len(BATCH) :]), status, reply)
        else:
            self._take(int(number), 0, status, reply)

    async def _answered_batch(self, batch: int, status: str, reply: dict[str, Any]) -> None:
        # A message that cannot be read says nothing.
        if status == NO_RESPONDERS:
            for a in self._sent_in(batch):
                self._take(a.id, batch, status, {})
            return
        answers: Any = reply.get("answers")
        if not isinstance(answers, list):
            return
        self._batching.prove()
        for n, answer in enumerate(cast(list[Any], answers)):
            if n and n % AT_ONCE == 0:
                await asyncio.sleep(0)  # the receivers go on
                await asyncio.sleep(0)  # what they send is published
            try:
                id, of = int(answer.get("id", 0)), answer["reply"]
                status = of.get("status", "")
            except (AttributeError, KeyError, TypeError, ValueError):
                continue
            if id:
                self._take(id, batch, status, of)
            elif refused := self._sent_in(batch):
                self._batching.offer(False)  # the node does not understand them; first, since receivers send again
                for a in refused:
                    self._unsent(a.id, NOT_SENT, of)

    def _sent_in(self, batch: int) -> list[Attempt]:
        # It looks at all attempts, and is for the rare case that a batch has no effect.
        return [a for a in self._attempts.values() if a.batch == batch]

    def _take(self, id: int, batch: int, status: str, reply: dict[str, Any]) -> None:
        # Hands an answer to the receiver of its attempt, which came in answer to a batch; 0: alone.
        attempt = self._attempts.get(id)
        if attempt is None or attempt.receive is None:
            self.disown(Answer(id, 0, False, status, reply))
            return
        if attempt.batch != batch:
            return
        route = attempt.route
        # mutant: PythonLeaseCountsFromTheAnswer
        answer = Answer(id, attempt.sent, route.shard is not None, status, reply)
        if route.op in ABOUT_ONE and not answer.is_about(route.key, self._owner):  # mutant: PythonForgedAnswerIsTaken
            return  # the right one may yet come
        del self._attempts[id]
        if answer.direct:
            if status == NO_RESPONDERS:
                self._client.outdated()
            else:
                self.router.proven()
        attempt.receive(answer)

    def _name(self, number: str) -> str:
        # Who has seen the reply subject of one attempt cannot guess that of another one.
        return f"{number}-{hashlib.blake2b(number.encode(), key=self._secret, digest_size=12).hexdigest()}"


def _parse(m: Msg) -> tuple[str, dict[str, Any]]:
    if not m.data:
        return (NO_RESPONDERS if (m.headers or {}).get("Status") == "503" else ""), {}
    try:
        reply: object = json.loads(m.data)
    except ValueError:
        return GARBLED, {}
    if not isinstance(reply, dict):
        return GARBLED, {}
    fields = cast(dict[str, Any], reply)
    return fields.get("status", ""), fields
