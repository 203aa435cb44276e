// The load of the TypeScript client; see ../doc.go.
import { connect } from "@nats-io/transport-node";
import { holdfast } from "@holdfast-io/client";

import { run } from "./load.mjs";

await run(async (servers) => {
  const nc = await connect({ servers });
  const hf = holdfast(nc);
  const held = [];
  return {
    async pair(name) {
      const lock = await hf.acquire(name);
      await lock.release();
    },
    async cachedPair(name) {
      const lock = await hf.acquire(name, { cache: 60_000 });
      await lock.release();
    },
    async hold(name) {
      held.push(await hf.acquire(name));
    },
    check() {
      const lost = held.filter((lock) => !lock.valid).length;
      if (lost > 0) throw new Error(`${lost} locks are lost`);
    },
    async loss(name, pause) {
      const lock = await hf.acquire(name);
      await pause(); // by then the client is told of events
      const signalled = new Promise((resolve) => lock.signal.addEventListener("abort", () => resolve(performance.now())));
      await nc.request(`holdfast.break.${name}`, JSON.stringify({ token: lock.token.toString() }), { timeout: 5000 });
      const broken = performance.now();
      return (await signalled) - broken;
    },
    async close() {
      await hf.close();
      await nc.close();
    },
  };
});
