// A node of the real binary, for tests.
import { execFile, spawn } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { createInterface } from "node:readline";
import type { Readable } from "node:stream";
import { promisify } from "node:util";

const binary = resolve(process.env.HOLDFAST_BINARY ?? "../../bin/holdfast");

/** A node with a server of NATS, on free ports and in a temporary folder. */
export class Node implements AsyncDisposable {
  private constructor(
    private readonly process: ChildProcess,
    private readonly folder: string,
    /** The address for clients. */
    readonly url: string,
    /** The address for clients in browsers. */
    readonly websocket: string,
  ) {}

  /** @param more is added to the configuration of NATS, and the node logs in as this user, with the password x. */
  static async start(more = "", user?: string): Promise<Node> {
    const folder = await mkdtemp(join(tmpdir(), "holdfast-typescript-"));
    await configure(folder, more);
    const args = ["serve", "--nats-config", join(folder, "nats.conf"), "--http", "off", "--log-level", "debug"];
    if (user !== undefined) args.push("--user", user, "--password", "x");
    const child = spawn(binary, args, { stdio: ["ignore", "pipe", "pipe"] });
    const [url, websocket] = await Promise.all([
      found(child.stdout, /NATS at (nats:\/\/\S+),/),
      found(child.stderr, /websocket clients on (ws:\/\/[^"\s]+)/),
    ]);
    return new Node(child, folder, url, websocket);
  }

  /** Runs a command of the binary to its end and returns what it prints. */
  async run(...args: string[]): Promise<string> {
    const { stdout } = await promisify(execFile)(binary, [...args, "--server", this.url]);
    return stdout;
  }

  /** Has the node read another configuration. It goes on for some time with the old one. */
  async reload(more: string): Promise<void> {
    await configure(this.folder, more);
    this.process.kill("SIGHUP");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const ended = once(this.process, "exit");
    this.process.kill("SIGKILL");
    await ended;
    await rm(this.folder, { recursive: true });
  }
}

async function configure(folder: string, more: string): Promise<void> {
  await writeFile(
    join(folder, "nats.conf"),
    `listen: "127.0.0.1:-1"
     jetstream { store_dir: ${JSON.stringify(join(folder, "data"))}, sync_interval: always }
     websocket { listen: "127.0.0.1:-1", no_tls: true }
     ${more}`,
  );
}

/** Returns the first match of a line, and goes on reading. */
function found(output: Readable, pattern: RegExp): Promise<string> {
  return new Promise((resolve, reject) => {
    let seen = "";
    const lines = createInterface({ input: output });
    lines.on("line", (line) => {
      const match = pattern.exec(line)?.[1];
      if (match !== undefined) resolve(match);
      else if (seen.length < 10_000) seen += line + "\n";
    });
    lines.on("close", () => {
      reject(new Error(`${binary} ended before it was ready:\n${seen}`));
    });
  });
}
