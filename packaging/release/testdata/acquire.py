"""It takes a lock, as an application does that has the released client, and prints its token."""

import asyncio
import sys

import holdfast_client


async def main() -> None:
    nc = await holdfast_client.connect([sys.argv[1]])
    async with holdfast_client.Client(nc, owner="pip") as client, client.lock(sys.argv[2]) as lock:
        print("token", int(lock.fence))
    await nc.close()
    print("version", holdfast_client.__version__)


asyncio.run(main())
