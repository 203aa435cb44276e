"""A relay before the node of a test, which loses and delays requests of clients."""

from __future__ import annotations

import asyncio
import json
import re
import socket
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any, cast

# The largest frame that is passed on. The payloads of NATS have at most 1 MB by default.
MAX_FRAME = 8 << 20

_REQUEST = re.compile(r"holdfast\.(?:shard\.[0-9-]+\.)?(acquire|extend|keep|batch)(?:\.(.*))?", re.DOTALL)

Call = dict[str, Any]
Lease = tuple[str, int]
"""The key of a resource, and a token; 0: any one."""


class Faults:
    """What becomes of requests. Any thread may set it; the relay alone calls judge.

    Attributes:
        lost: the leases of which no extend, and of whose sessions no keep, reaches the node.
        delay: by how many seconds each acquire reaches it later.
    """

    def __init__(self) -> None:
        self.lost: frozenset[Lease] = frozenset()
        self.delay = 0.0
        self._sessions: dict[Lease, str] = {}

    def judge(self, op: str, key: str, call: Call) -> float | None:
        """Return after how many seconds to pass on a request; None: it is lost."""
        if op == "acquire":
            return self.delay
        if op == "keep":
            return None if any(self._sessions.get(lease) == key for lease in self._leases()) else 0.0
        if op == "extend":
            lease = key, int(call.get("token", 0))
            if lease in self.lost or (key, 0) in self.lost:
                return None
            if "session" in call:  # the way in which leases come into sessions
                self._sessions[lease] = call["session"]
        return 0.0

    def _leases(self) -> set[Lease]:
        keys = {key for key, token in self.lost if token == 0}
        return {*self.lost, *(lease for lease in self._sessions if lease[0] in keys)}


class Relay:
    """Passes connections on to a node, from an address that stays the same while the node is stopped."""

    def __init__(self) -> None:
        """Keep an address, which refuses connections until open is called."""
        self.faults = Faults()
        self._target: tuple[str, int] = ("127.0.0.1", 0)
        self._socket = _bound(0)
        self._port: int = self._socket.getsockname()[1]
        self.url = f"nats://127.0.0.1:{self._port}"
        self._server: asyncio.Server | None = None
        self._loop = asyncio.new_event_loop()
        self._links: set[asyncio.Task[None]] = set()
        self._thread = threading.Thread(target=self._serve, name="holdfast relay", daemon=True)
        self._thread.start()

    def open(self, host: str, port: int) -> None:
        """Take connections for a node."""
        self._target = host, port
        asyncio.run_coroutine_threadsafe(self._open(), self._loop).result()

    def shut(self) -> None:
        """Refuse connections, because the node is stopped, whose clients then see the end of theirs."""
        asyncio.run_coroutine_threadsafe(self._shut(), self._loop).result()

    async def _open(self) -> None:
        self._server = await asyncio.start_server(self._accept, sock=self._socket, limit=MAX_FRAME)

    async def _shut(self) -> None:
        if self._server is not None:
            self._server.close()
            self._server = None
            self._socket = _bound(self._port)

    def close(self) -> None:
        """Break the connections and end."""
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()

    def _serve(self) -> None:
        self._loop.run_forever()
        if self._server is not None:
            self._server.close()
        self._socket.close()
        for link in self._links:
            link.cancel()
        if self._links:
            self._loop.run_until_complete(asyncio.wait(self._links))
        self._loop.run_until_complete(asyncio.sleep(0))  # the transports close
        self._loop.close()

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        link = asyncio.current_task()
        assert link is not None
        self._links.add(link)
        link.add_done_callback(self._links.discard)
        there: asyncio.StreamWriter | None = None
        try:
            back, there = await asyncio.open_connection(*self._target)
            ways = [asyncio.create_task(work) for work in (_copy(back, writer), self._requests(reader, there))]
            self._links.update(ways)
            await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
            for way in ways:
                way.cancel()
            await asyncio.wait(ways)
            self._links.difference_update(ways)
        except (OSError, asyncio.CancelledError):
            pass  # the node is stopped, or the relay ends
        finally:
            for end in (writer, there):
                if end is not None:
                    _break(end)

    async def _requests(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError, ValueError, asyncio.IncompleteReadError):
            while line := await reader.readline():
                words = line.decode("latin-1").split()
                verb = words[0].upper() if words else ""
                if verb not in ("PUB", "HPUB"):
                    writer.write(line)
                else:
                    size = int(words[-1])
                    if size > MAX_FRAME:
                        return
                    head = int(words[-2]) if verb == "HPUB" else 0
                    payload = (await reader.readexactly(size + 2))[:-2]
                    self._publish(writer, words, payload[:head], payload[head:])
                await writer.drain()

    def _publish(self, writer: asyncio.StreamWriter, words: list[str], head: bytes, body: bytes) -> None:
        for delay, part in self.parts(words[1], body):
            sizes = [str(len(head))] if words[0].upper() == "HPUB" else []
            to = words[1 : -1 - len(sizes)]
            frame = " ".join([words[0], *to, *sizes, str(len(head) + len(part))]).encode("latin-1")
            data = b"%s\r\n%s%s\r\n" % (frame, head, part)
            if delay:
                self._loop.call_later(delay, _write_late, writer, data)
            else:
                writer.write(data)

    def parts(self, subject: str, body: bytes) -> list[tuple[float, bytes]]:
        """Return what is passed on of a message, each part after so many seconds."""
        request = _REQUEST.fullmatch(subject)
        message = _parse(body)
        if request is None or message is None:
            return [(0.0, body)]
        op, key = request[1], request[2] or ""
        if op != "batch":
            delay = self.faults.judge(op, key, message)
            return [] if delay is None else [(delay, body)]
        calls: list[Call] = message.get("calls", [])
        judged = [(self._judge(call), call) for call in calls]
        if all(delay == 0 for delay, _ in judged):
            return [(0.0, body)]
        delays = {delay for delay, _ in judged if delay is not None}
        groups = [(delay, [call for other, call in judged if other == delay]) for delay in sorted(delays)]
        return [(delay, json.dumps({"calls": group}).encode()) for delay, group in groups]

    def _judge(self, call: Call) -> float | None:
        op = next((op for op in ("acquire", "extend", "keep") if op in call), "")
        return self.faults.judge(op, call.get("key", ""), call.get(op, {}))


def _bound(port: int) -> socket.socket:
    # A socket that has a port and refuses connections, until it is listened on.
    bound = socket.socket()
    bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    bound.bind(("127.0.0.1", port))
    return bound


def _parse(body: bytes) -> Call | None:
    # A message in JSON, as the Python client sends it.
    try:
        message: object = json.loads(body)
    except ValueError:
        return None
    return cast(Call, message) if isinstance(message, dict) else None


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(OSError):
        while data := await reader.read(1 << 16):
            writer.write(data)
            await writer.drain()


def _write_late(writer: asyncio.StreamWriter, data: bytes) -> None:
    if not writer.is_closing():
        writer.write(data)


def _break(writer: asyncio.StreamWriter) -> None:
    # A forked child may have the socket, too.
    shutdown: Callable[[int], None] = writer.get_extra_info("socket").shutdown
    with suppress(OSError):
        shutdown(socket.SHUT_RDWR)
    writer.close()
