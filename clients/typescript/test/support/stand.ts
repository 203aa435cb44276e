// A node, a connection to it and clients, for the tests of one file.
import { after, before } from "node:test";
import type { NatsConnection } from "@nats-io/nats-core";
import { connect } from "@nats-io/transport-node";
import { connectWith, holdfast, type Holdfast, type Options } from "@holdfast-io/client";
import { Node } from "./node.js";

/** What the tests of a file share. */
export class Stand {
  #node: Node | undefined;
  #nc: NatsConnection | undefined;
  #names = 0;
  readonly #clients: Holdfast[] = [];

  constructor() {
    before(async () => {
      this.#node = await Node.start();
      this.#nc = await connectWith(connect, { servers: this.#node.url });
    });
    after(async () => {
      await Promise.all(this.#clients.map((client) => client.close()));
      await this.#nc?.close();
      await this.#node?.[Symbol.asyncDispose]();
    });
  }

  get node(): Node {
    if (this.#node === undefined) throw new Error("the node is not started");
    return this.#node;
  }

  get nc(): NatsConnection {
    if (this.#nc === undefined) throw new Error("the node is not started");
    return this.#nc;
  }

  /** Returns a client that is closed after the tests. */
  client(options?: Options, nc = this.nc): Holdfast {
    const client = holdfast(nc, options);
    this.#clients.push(client);
    return client;
  }

  /** Returns a name that no other test uses. */
  name(): string {
    return `test.${process.pid}.${++this.#names}`;
  }

  /** Sends a request of the contract, as any other client would. */
  async ask(operation: string, name: string, body: object): Promise<Record<string, unknown>> {
    const answer = await this.nc.request(`holdfast.${operation}.${name}`, JSON.stringify(body), { timeout: 30_000 });
    return answer.json<Record<string, unknown>>();
  }

  /** Waits until a resource has so many waiting requests. */
  async waiting(name: string, count: number): Promise<void> {
    for (;;) {
      const { waiting = 0 } = await this.ask("get", name, {});
      if (waiting === count) return;
    }
  }

  /** Waits until a resource is free and no request waits for it. */
  async free(name: string): Promise<void> {
    for (;;) {
      const { status, waiting = 0 } = await this.ask("get", name, {});
      if (status === "FREE" && waiting === 0) return;
    }
  }
}

/** Waits until a signal aborts, and returns its reason. */
export function aborted(signal: AbortSignal): Promise<unknown> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve(signal.reason);
    else signal.addEventListener("abort", () => { resolve(signal.reason); }, { once: true });
  });
}
