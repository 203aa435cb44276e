// The load of Redlock on one Redis; see ../doc.go.
import { Redis } from "ioredis";
import { Redlock } from "@sesamecare-oss/redlock";

import { run } from "./load.mjs";

await run(async (url) => {
  const redis = new Redis(url);
  const redlock = new Redlock([redis]);
  return {
    async pair(name) {
      const lock = await redlock.acquire([name], 30_000);
      await lock.release();
    },
    async close() {
      await redis.quit();
    },
  };
});
