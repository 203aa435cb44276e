"""A proxy before a node, which can lose everything silently."""

from __future__ import annotations

import asyncio
from typing import Self
from urllib.parse import urlparse


class Proxy:
    """Passes connections on. While flowing is cleared it reads and loses all."""

    def __init__(self, url: str) -> None:
        parsed = urlparse(url)
        self._target = parsed.hostname, parsed.port
        self.lossy = False
        self._tasks: set[asyncio.Task[None]] = set()
        self._writers: set[asyncio.StreamWriter] = set()
        self._server: asyncio.Server | None = None
        self.url = ""

    async def __aenter__(self) -> Self:
        await self.listen()
        return self

    async def __aexit__(self, *_: object) -> None:
        self.vanish()
        if self._tasks:
            await asyncio.wait(self._tasks)

    async def listen(self) -> None:
        """Take connections, at the same address each time."""
        port = urlparse(self.url).port or 0
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", port)
        self.url = f"nats://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"

    def vanish(self) -> None:
        """Break the connections, and refuse new ones."""
        assert self._server is not None
        self._server.close()
        self.cut()

    def cut(self) -> None:
        """Break the connections."""
        for writer in self._writers:
            writer.transport.abort()

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        there, back = await asyncio.open_connection(*self._target)
        for source, sink in ((reader, back), (there, writer)):
            self._writers.add(sink)
            task = asyncio.create_task(self._pass(source, sink))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _pass(self, source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
        try:
            while data := await source.read(65536):
                if not self.lossy:
                    sink.write(data)
                    await sink.drain()
        except OSError:
            pass
        finally:
            sink.close()
            self._writers.discard(sink)
