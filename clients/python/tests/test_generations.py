"""Another number of shards while clients run."""

from __future__ import annotations

import asyncio
import json
import subprocess
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any, cast

import pytest
from nats.aio.msg import Msg

import holdfast_client
from holdfast_client import _clock
from holdfast_client._core import Core
from holdfast_client._deployment import FRESH, Deployment
from holdfast_client._handles import Handles
from holdfast_client._key import shard_of
from holdfast_client._route import Router
from holdfast_client._sender import GENERATION, Answer

from .conftest import BINARY, NewClient, Node, until, until_covered
from .test_batching import Fixture, fixture, free

__all__ = ["fixture"]


def test_direct_subjects() -> None:
    """Those of the first generation stay."""
    router = Router("holdfast")
    number = shard_of("a", 7)
    router.shards = 7
    assert router.subject(router.route("get", "a", 0)) == f"holdfast.shard.{number}.get.a"
    router.generation = 3
    assert router.subject(router.route("get", "a", 0)) == f"holdfast.shard.3-{number}.get.a"
    assert router.subject(router.route("get", "a", 1)) == "holdfast.get.a"
    assert router.subject(router.route("keep", "id", 0, "2-5")) == "holdfast.shard.2-5.keep.id"
    assert router.batch(router.shard("a")) == f"holdfast.shard.3-{number}.batch"


def test_only_another_generation_is_a_hint() -> None:
    router = Router("holdfast")
    assert not router.is_old("1")  # nothing is known
    router.shards, router.generation = 2, 1
    assert [router.is_old(present) for present in ("", "1", "0", "2", "x")] == [False, False, True, True, True]


async def test_headers_are_read(fixture: Fixture) -> None:
    """Those of the answer to a single request, and once for a message that answers a batch."""
    prefix = fixture.sender.router.prefix
    present = "1"

    async def alone(m: Msg) -> None:
        await fixture.nc.publish(m.reply, b'{"status":"FREE"}', headers={GENERATION: present})

    async def together(m: Msg, calls: list[dict[str, Any]]) -> None:
        answers = json.dumps({"answers": [free(call) for call in calls]}).encode()
        await fixture.nc.publish(m.reply, answers, headers={GENERATION: present})

    await fixture.nc.subscribe(f"{prefix}.shard.0.get.*", cb=alone)
    await fixture.serve(together)
    await fixture.answered(fixture.get("a"))
    assert fixture.client.hints == 1
    await fixture.answered(fixture.get("b", "c", "d"))
    assert fixture.client.hints == 2
    present = "0"
    await fixture.answered(fixture.get("e"))
    await fixture.answered(fixture.get("f", "g"))
    assert fixture.client.hints == 2


class Service:
    """Stands for the requests of a client, and answers what the service says about itself."""

    def __init__(self) -> None:
        self.says: dict[str, Any] = {"shards": 2}
        self.answers = asyncio.Event()
        self.questions = 0
        self.divided = 0
        self.known: list[tuple[int, int]] = []
        self.timeout = 10.0
        self.closed = False
        self.sender = SimpleNamespace(set_deployment=self.learn)
        self.spawn = asyncio.get_running_loop().create_task

    async def request(self, *_: object) -> Answer:
        self.questions += 1
        await self.answers.wait()
        return Answer(1, 0, False, "", self.says)

    def learn(self, shards: int, generation: int, _: object) -> None:
        self.known.append((shards, generation))

    def note(self) -> None:
        self.divided += 1


async def turns() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


async def test_one_question_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """However many hints there are; and what a hint says is not taken from it."""
    now = 1000.0
    monkeypatch.setattr(_clock, "now", lambda: now)
    service = Service()
    deployment = Deployment(cast(Core, service))
    deployment.divided = service.note
    service.answers.set()
    await turns()
    assert (service.questions, service.divided, service.known) == (1, 1, [(2, 0)])
    service.answers.clear()
    now += FRESH
    for _ in range(100):
        deployment.refresh()
        await turns()
        now += FRESH
    assert service.questions == 2
    service.answers.set()
    await turns()
    for _ in range(600):  # each second
        deployment.refresh()
        await turns()
        now += 1
    assert 100 <= service.questions <= 130
    assert service.divided == 1
    for says in ({"shards": 3, "generation": "1"}, {"shards": 3, "generation": -1}, {"shards": 3, "generation": 2**32}):
        service.answers.clear()
        service.says = says
        now += FRESH
        deployment.refresh()
        service.answers.set()
        await turns()
        assert service.known[-1] == (2, 0)
        deployment.close()  # it goes on to ask
        await turns()
    service.says = {"shards": 2, "generation": 1}
    now += FRESH
    deployment.refresh()
    await turns()
    assert (service.divided, service.known[-1]) == (2, (2, 1))
    deployment.close()


@pytest.fixture
def fresh_node() -> Iterator[Node]:
    """A node whose shards no other test uses."""
    n = Node("--shards", "2", "--unsafe-sync")
    yield n
    n.stop()


def handles_of(client: holdfast_client.Client) -> Handles:
    return client._handles  # pyright: ignore[reportPrivateUsage]


def shards_of(client: holdfast_client.Client) -> set[str]:
    """Return the shards in which the client has sessions."""
    return {session.terms.shard for session in handles_of(client).sessions.all()}


async def test_clients_follow(fresh_node: Node, new_client: NewClient) -> None:
    """No call fails, no lock is lost, and each lease comes into the session of its new shard."""
    client = await new_client(fresh_node.url)
    worker = await new_client(fresh_node.url)
    locks = [await client.acquire(f"held{i}", ttl=9) for i in range(20)]
    await until_covered(locks)
    over = False

    async def work(i: int) -> None:
        last = 0
        while not over:
            lock = await worker.acquire(f"work{i}")
            assert lock.token > last
            last = lock.token
            await lock.release()

    async with asyncio.TaskGroup() as group:
        for i in range(8):
            group.create_task(work(i))
        for generation, shards in ((1, 3), (2, 1)):
            command = [str(BINARY), "reshard", str(shards), "--server", fresh_node.url]
            ran = await asyncio.to_thread(subprocess.run, command, capture_output=True, text=True, check=True)
            assert ran.stdout.startswith(f"{shards} shard")
            present = {f"{generation}-{n}" for n in range(shards)}
            await until(lambda present=present: shards_of(client) == present)
            router = handles_of(worker).core.sender.router
            await until(lambda router=router, known=(shards, generation): (router.shards, router.generation) == known)
            await until_covered(locks)
            assert all(lock.valid for lock in locks)
        over = True
    for lock in locks:
        state = await client.get(lock.name)
        assert lock.valid
        assert state.holder is not None
        assert state.holder.token == lock.token
        await lock.release()
