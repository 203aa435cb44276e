/**
 * A node for the tests of an application, and what its code has to stand: the loss of a lock, and a service that is slow
 * or gone. For Node.js, with the binary of Holdfast.
 *
 * @packageDocumentation
 */
import { execFile, spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { promisify } from "node:util";
import { encodeKey, normalizeName } from "../key.js";
import { Relay, type Verdict } from "./relay.js";

/** Options of {@link startServer}. */
export interface ServerOptions {
  /** The binary; by default HOLDFAST_BINARY, or `holdfast` in the PATH. */
  binary?: string;
  /** Further flags of `holdfast serve`. */
  flags?: readonly string[];
}

const isReady = /^Holdfast is ready: NATS at (nats:\/\/\S+),/;
/** How much of the output of a node an error shows. */
const maxOutput = 10_000;
/** The requests about which a fault may be. */
const judged = /^holdfast\.(?:shard\.[0-9-]+\.)?(acquire|extend|keep|batch)(?:\.(.+))?$/;

/** Starts a node in a process of its own, on a free port of 127.0.0.1 and in a temporary folder. */
export async function startServer(options: ServerOptions = {}): Promise<Server> {
  return Server.make(options);
}

/**
 * A node and its faults. They are made between the clients of {@link Server.url} and the node: both are unchanged.
 * Requests of clients in TypeScript and Python are known.
 */
export class Server implements AsyncDisposable {
  readonly #binary: string;
  readonly #flags: readonly string[];
  readonly #folder: string;
  readonly #relay: Relay;
  #process: ChildProcess | undefined;
  #delay = 0;
  /** The leases that are not renewed any more, and in which session each lease was taken, by token and key. */
  readonly #dropped = new Set<string>();
  readonly #sessions = new Map<string, string>();

  private constructor(options: ServerOptions, folder: string, relay: Relay) {
    this.#binary = options.binary ?? process.env.HOLDFAST_BINARY ?? "holdfast";
    this.#flags = options.flags ?? [];
    this.#folder = folder;
    this.#relay = relay;
  }

  /** @internal */
  static async make(options: ServerOptions): Promise<Server> {
    const judge: { judge?: (subject: string, payload: Buffer) => Verdict } = {};
    const relay = await Relay.listen((subject, payload) => judge.judge?.(subject, payload) ?? "lose");
    const server = new Server(options, await mkdtemp(join(tmpdir(), "holdfast-")), relay);
    judge.judge = (subject, payload) => server.#judge(subject, payload);
    try {
      await server.start();
    } catch (error) {
      await server[Symbol.asyncDispose]();
      throw error;
    }
    return server;
  }

  /** The address for clients. It stays the same. */
  get url(): string {
    return this.#relay.url;
  }

  /** Runs the node again, with its former data. Nothing happens while it runs. */
  async start(): Promise<void> {
    if (this.#process !== undefined) return;
    const flags = ["--listen", "127.0.0.1:0", "--data", join(this.#folder, "data"), "--http", "off", "--min-ttl", "100ms"];
    const child = spawn(this.#binary, ["serve", ...flags, ...this.#flags], { stdio: ["ignore", "pipe", "pipe"] });
    this.#process = child;
    this.#relay.target = new URL(await readiness(child, this.#binary));
  }

  /** Stops the node in order. Connections break, and none can be made until it is started again. */
  async stop(): Promise<void> {
    await this.#end("SIGTERM");
  }

  /** Stops the node as {@link Server.stop} does, without a chance to write anything. */
  async kill(): Promise<void> {
    await this.#end("SIGKILL");
  }

  /**
   * Ends the lease of a lock, as an operator does: whoever waits for it has it, and its holder learns that it is lost,
   * with a renewal at the latest.
   *
   * @throws Error if nobody holds the lock.
   */
  async endLease(name: string): Promise<void> {
    for (const token of await this.#tokens(name)) await this.#run("break", "--token", token, "--reason", "ended by a test", "--", name);
  }

  /**
   * Loses the renewals of the lease that a lock has now: its holder loses it by the clock, before the node gives it to the
   * next one. Other locks of the client that one request keeps alive with it may be lost, too. Later leases of the lock
   * are renewed.
   *
   * @throws Error if nobody holds the lock.
   */
  async dropRenewals(name: string): Promise<void> {
    const key = encodeKey(name);
    for (const token of await this.#tokens(name)) this.#dropped.add(`${token} ${key}`);
  }

  /**
   * Has the node receive each request for a lock so many milliseconds later from now on; 0: at once. All else passes at
   * once, also the withdrawal of a request that was given up.
   */
  delayGrants(ms: number): void {
    this.#delay = ms;
  }

  /** Kills the node, and removes its data. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.kill();
    await this.#relay.close();
    await rm(this.#folder, { recursive: true, force: true });
  }

  async #end(signal: "SIGTERM" | "SIGKILL"): Promise<void> {
    const child = this.#process;
    if (child === undefined) return;
    this.#relay.target = undefined;
    this.#relay.cut();
    this.#process = undefined;
    if (child.exitCode !== null || child.signalCode !== null || child.pid === undefined) return;
    const ended = once(child, "exit");
    child.kill(signal);
    await ended;
  }

  #judge(subject: string, payload: Buffer): Verdict {
    const [, operation, key = ""] = judged.exec(subject) ?? [];
    switch (operation) {
      case "batch":
        return "bounce"; // the requests come one by one then
      case "acquire":
        return { pass: this.#delay };
      case "keep":
        return this.#isDropped(key) ? "lose" : { pass: 0 };
      case "extend":
        return this.#extended(key, payload);
      default:
        return { pass: 0 };
    }
  }

  #extended(key: string, payload: Buffer): Verdict {
    try {
      const { token, session } = JSON.parse(payload.toString()) as { token?: string; session?: string };
      const lease = `${String(token)} ${key}`;
      if (this.#dropped.has(lease)) return "lose";
      if (session === undefined) this.#sessions.delete(lease);
      else this.#sessions.set(lease, encodeKey(session));
    } catch {
      // It breaks a rule, and the node says so.
    }
    return { pass: 0 };
  }

  /** Reports whether a session keeps a lease alive that is not renewed any more. */
  #isDropped(session: string): boolean {
    return [...this.#dropped].some((lease) => this.#sessions.get(lease) === session);
  }

  async #tokens(name: string): Promise<string[]> {
    const { holders = [] } = JSON.parse(await this.#run("get", "--json", "--", name)) as { holders?: { token: string }[] };
    if (holders.length === 0) throw new Error(`nobody holds ${JSON.stringify(normalizeName(name))}`);
    return holders.map(({ token }) => token);
  }

  /** Runs a command of the binary against the node. */
  async #run(command: string, ...args: string[]): Promise<string> {
    const { target } = this.#relay;
    if (target === undefined) throw new Error("the node is stopped");
    const { stdout } = await promisify(execFile)(this.#binary, [command, "--server", target.href, ...args]);
    return stdout;
  }
}

/** Returns the address of a node that is ready, and goes on reading what it prints. */
function readiness(child: ChildProcess, binary: string): Promise<string> {
  return new Promise((resolve, reject) => {
    let seen = "";
    const note = (line: string): void => {
      if (seen.length < maxOutput) seen += `${line}\n`;
    };
    child.on("error", reject);
    child.on("exit", () => { reject(new Error(`${binary} ended before it was ready:\n${seen}`)); });
    for (const output of [child.stdout, child.stderr]) {
      if (output === null) continue;
      createInterface({ input: output }).on("line", (line) => {
        const url = isReady.exec(line)?.[1];
        if (url === undefined) note(line);
        else resolve(url);
      });
    }
  });
}
