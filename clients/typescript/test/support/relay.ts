// A relay before a server, whose connections can be lost in two ways.
import { once } from "node:events";
import { connect, createServer, type AddressInfo, type Server, type Socket } from "node:net";

/** Relays connections to a server. */
export class Relay implements AsyncDisposable {
  readonly #sockets = new Set<Socket>();
  #silent = false;

  private constructor(private readonly server: Server) {}

  /** Listens before the server of an address. */
  static async before(url: string): Promise<Relay> {
    const { hostname, port } = new URL(url);
    const server = createServer();
    const relay = new Relay(server);
    server.on("connection", (client) => {
      relay.#join(client, connect(Number(port), hostname));
    });
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    return relay;
  }

  get url(): string {
    return `nats://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  /** Loses everything from now on, in silence. */
  blackhole(): void {
    this.#silent = true;
  }

  /** Breaks all connections. New ones are relayed. */
  cut(): void {
    for (const socket of this.#sockets) socket.destroy();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.server.close();
    this.cut();
    await once(this.server, "close");
  }

  #join(...ends: [Socket, Socket]): void {
    for (const [from, to] of [ends, [...ends].reverse()] as [Socket, Socket][]) {
      this.#sockets.add(from);
      from.on("data", (data) => {
        if (!this.#silent) to.write(data);
      });
      from.on("error", () => undefined);
      from.on("close", () => {
        this.#sockets.delete(from);
        to.destroy();
      });
    }
  }
}
