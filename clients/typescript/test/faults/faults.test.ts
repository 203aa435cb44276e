// What hosts do under a lock when their process or the node is killed, and when their process is paused.
import assert from "node:assert/strict";
import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { after, before, describe, test, type TestContext } from "node:test";
import { fileURLToPath } from "node:url";
import type { NatsConnection } from "@nats-io/nats-core";
import { connect } from "@nats-io/transport-node";
import { connectWith, holdfast } from "@holdfast-io/client";
import { startServer, type Server } from "@holdfast-io/client/testing";

const hosts = ["redlock", "nestjs"];
const program = fileURLToPath(new URL("./holder.js", import.meta.url));
let server: Server, folder: string, nc: NatsConnection;

before(async () => {
  server = await startServer({ binary: process.env.HOLDFAST_BINARY ?? "../../bin/holdfast" });
  folder = await mkdtemp(join(tmpdir(), "holdfast-faults-"));
  nc = await connectWith(connect, { servers: server.url, reconnectTimeWait: 50 });
});

after(async () => {
  await nc.close();
  await server[Symbol.asyncDispose]();
  await rm(folder, { recursive: true });
});

/** A process with a host. */
class Holder {
  readonly #process: ChildProcess;
  readonly #lines: AsyncIterator<string>;

  private constructor(...args: string[]) {
    this.#process = spawn(process.execPath, [program, ...args], { stdio: ["ignore", "pipe", "inherit"] });
    assert.ok(this.#process.stdout !== null);
    this.#lines = createInterface({ input: this.#process.stdout })[Symbol.asyncIterator]();
  }

  /** Starts it and waits until it is connected. It ends with the test. */
  static async start(t: TestContext, host: string, name: string, ttl: number): Promise<Holder> {
    const holder = new Holder(host, server.url, folder, name, String(ttl));
    t.after(() => holder.#end());
    assert.equal(await holder.says(), "connected");
    return holder;
  }

  /** Returns what it says next; undefined: it has ended. */
  async says(): Promise<string | undefined> {
    return (await this.#lines.next()).value as string | undefined;
  }

  send(signal: NodeJS.Signals): void {
    this.#process.kill(signal);
  }

  async #end(): Promise<void> {
    if (this.#process.exitCode !== null || this.#process.signalCode !== null) return;
    const ended = once(this.#process, "exit");
    this.send("SIGKILL");
    await ended;
  }
}

describe("a job whose process", { concurrency: true }, () => {
  for (const host of hosts) {
    test(`is killed goes on in another one: ${host}`, async (t) => {
      const first = await Holder.start(t, host, `${host}.killed`, 5000);
      assert.equal(await first.says(), "has 000000000000001");
      const second = await Holder.start(t, host, `${host}.killed`, 600_000);
      first.send("SIGKILL");
      assert.equal(await second.says(), "has 000000000000002");
      assert.equal(await first.says(), undefined);
    });

    test(`is paused goes on in another one, and the first one cannot write any more: ${host}`, async (t) => {
      const first = await Holder.start(t, host, `${host}.paused`, 5000);
      assert.equal(await first.says(), "has 000000000000001");
      const second = await Holder.start(t, host, `${host}.paused`, 600_000);
      first.send("SIGSTOP");
      assert.equal(await second.says(), "has 000000000000002");
      first.send("SIGCONT");
      assert.equal(await first.says(), "has lost 000000000000001: StaleClaimError");
    });
  }
});

test("a job whose node is killed goes on alone", async (t) => {
  const client = holdfast(nc);
  const jobs = await Promise.all(hosts.map(async (host) => {
    const name = `${host}.node`;
    const first = await Holder.start(t, host, name, 600_000);
    assert.equal(await first.says(), "has 000000000000001");
    return { name, first, second: await Holder.start(t, host, name, 600_000) };
  }));
  await server.kill();
  await server.start();
  for (const { name, first, second } of jobs) {
    const { held, token } = await client.get(name);
    assert.deepEqual([name, held, token], [name, true, 1n]);
    first.send("SIGUSR2");
    assert.equal(await first.says(), "is done with 000000000000001");
    assert.match(await Promise.race([first.says(), second.says()]) ?? "", /^has 0/);
  }
  await client.close();
});
