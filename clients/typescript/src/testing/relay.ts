// A relay before a NATS server, which looks at what clients publish.
import { once } from "node:events";
import { connect, createServer, type AddressInfo, type Server, type Socket } from "node:net";

/** The longest message that a client may publish. NATS takes 64 MB at most, and 1 MB by default. */
const maxFrame = 8 << 20;
/** The longest line. That of a login is the longest. */
const maxLine = 64 << 10;

/** What becomes of a message: it passes, also after so many milliseconds, is lost, or nobody is there to answer it. */
export type Verdict = { pass: number } | "lose" | "bounce";

/** Says what becomes of a message. */
export type Judge = (subject: string, payload: Buffer) => Verdict;

/** Has no responder, so that NATS itself answers what is published to it. */
const nowhere = "_HOLDFAST_TESTING.nowhere";

/** Relays connections to the server of an address, which may change. */
export class Relay {
  /** Where the server is; undefined: there is none, and each connection is closed. */
  target: URL | undefined;
  readonly #sockets = new Set<Socket>();

  private constructor(
    private readonly server: Server,
    private readonly judge: Judge,
  ) {}

  static async listen(judge: Judge): Promise<Relay> {
    const server = createServer();
    const relay = new Relay(server, judge);
    server.on("connection", (client) => { relay.#join(client); });
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    return relay;
  }

  get url(): string {
    return `nats://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  /** Breaks all connections. */
  cut(): void {
    for (const socket of this.#sockets) socket.destroy();
  }

  async close(): Promise<void> {
    const closed = once(this.server, "close");
    this.server.close();
    this.cut();
    await closed;
  }

  #join(client: Socket): void {
    if (this.target === undefined) {
      client.destroy();
      return;
    }
    const server = connect(Number(this.target.port), this.target.hostname);
    const frames = new Frames();
    this.#add(client, server);
    this.#add(server, client);
    server.on("data", (data) => { client.write(data); });
    client.on("data", (data) => {
      try {
        for (const frame of frames.take(data)) this.#pass(frame, server);
      } catch {
        client.destroy(); // what comes is not the protocol, or too long
      }
    });
  }

  #add(socket: Socket, other: Socket): void {
    this.#sockets.add(socket);
    socket.on("error", () => undefined);
    socket.on("close", () => {
      this.#sockets.delete(socket);
      other.destroy();
    });
  }

  #pass({ bytes, subject, payload }: Frame, server: Socket): void {
    const verdict = subject === undefined ? { pass: 0 } : this.judge(subject, payload);
    if (verdict === "lose") return;
    if (verdict === "bounce") server.write(Buffer.from(bytes.toString("latin1").replace(subject ?? "", nowhere), "latin1"));
    else if (verdict.pass === 0) server.write(bytes);
    else setTimeout(() => { if (!server.destroyed) server.write(bytes); }, verdict.pass);
  }
}

/** A line of the protocol, with the message that belongs to it. */
interface Frame {
  readonly bytes: Buffer;
  /** Undefined: it has no message. */
  readonly subject?: string;
  readonly payload: Buffer;
}

/** Divides what a client sends. */
class Frames {
  #buffer: Buffer = Buffer.alloc(0);

  /** Returns the frames that are complete. Throws if it is not the protocol, or too long. */
  *take(data: Buffer): Generator<Frame> {
    this.#buffer = this.#buffer.length === 0 ? data : Buffer.concat([this.#buffer, data]);
    for (;;) {
      const end = this.#buffer.indexOf("\r\n");
      if (end < 0 ? this.#buffer.length > maxLine : end > maxLine) throw new Error("the line is too long");
      if (end < 0) break;
      const words = this.#buffer.toString("latin1", 0, end).trim().split(/[ \t]+/);
      const verb = (words[0] ?? "").toUpperCase();
      const isMessage = verb === "PUB" || verb === "HPUB";
      const size = isMessage ? Number(words.at(-1)) : -2;
      const head = verb === "HPUB" ? Number(words.at(-2)) : 0;
      if (!Number.isInteger(size) || !Number.isInteger(head) || size > maxFrame) throw new Error(`no frame: ${verb}`);
      const length = end + 2 + size + 2;
      if (this.#buffer.length < length) break;
      const bytes = this.#buffer.subarray(0, length);
      this.#buffer = this.#buffer.subarray(length);
      yield {
        bytes,
        payload: bytes.subarray(end + 2 + head, length - 2),
        ...(isMessage && words[1] !== undefined && { subject: words[1] }),
      };
    }
  }
}
