import type { NatsConnection, Status } from "@nats-io/nats-core";

/** Sends on a connection, and gets reports about it as far as it has methods for them. */
export interface Publisher {
  /** The connection is interrupted. */
  disconnected?(): void;
  /** The connection is there again. What was sent on the last one may be lost. */
  reconnected?(): void;
  /** Returns the attempts on a subject whose answers are expected. */
  attemptsOn?(subject: string): object[];
  /** NATS has published none of them. */
  denied?(subject: string, error: Error): void;
}

/**
 * The state of a connection, and what NATS denies on it. A denial is reported to all of its publishers together, since
 * an error names the subject alone.
 */
export class Denials {
  static readonly #ofConnections = new WeakMap<NatsConnection, Denials>();

  readonly #publishers = new Set<Publisher>();
  readonly #status: AsyncIterable<Status>;
  /** The open attempts on a subject at each denial there, by each of them: the next denial may find others before it. */
  readonly #counted = new WeakMap<object, object[][]>();

  private constructor(private readonly nc: NatsConnection) {
    this.#status = nc.status();
    void this.#follow();
  }

  /** Returns those of a connection. They are reported to the publisher from now on. */
  static join(nc: NatsConnection, publisher: Publisher): Denials {
    const denials = Denials.#ofConnections.get(nc) ?? new Denials(nc);
    Denials.#ofConnections.set(nc, denials);
    denials.#publishers.add(publisher);
    return denials;
  }

  /** Ends what join has begun. */
  leave(publisher: Publisher): void {
    this.#publishers.delete(publisher);
    if (this.#publishers.size > 0) return;
    Denials.#ofConnections.delete(this.nc);
    (this.#status as { stop?(): void }).stop?.();
  }

  async #follow(): Promise<void> {
    for await (const status of this.#status) {
      if (status.type === "error") this.#deny(status.error);
      else if (status.type === "disconnect") for (const publisher of this.#publishers) publisher.disconnected?.();
      else if (status.type === "reconnect") for (const publisher of this.#publishers) publisher.reconnected?.();
    }
  }

  /**
   * Handles a denial. An attempt that NATS did not publish had no effect. The error does not say which one it was: the
   * permission may be younger than some of those on the subject, whichever publisher they are of. As many denials as
   * there are open attempts show that all were denied.
   */
  #deny(error: Error): void {
    const { name, operation, subject } = error as Error & { operation?: string; subject?: string };
    if (name !== "PermissionViolationError" || operation === "subscription" || subject === undefined) return;
    const publishers = [...this.#publishers];
    const open = publishers.flatMap((publisher) => publisher.attemptsOn?.(subject) ?? []);
    if (open.length === 0) return;
    const before = open.map((attempt) => this.#counted.get(attempt)).find((times) => times !== undefined) ?? [];
    const times = [...before.filter((were) => were.every((attempt) => open.includes(attempt))), open];
    for (const attempt of open) this.#counted.set(attempt, times);
    if (times.length < open.length) return;
    for (const publisher of publishers) publisher.denied?.(subject, error);
  }
}
