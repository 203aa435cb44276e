import type { NatsConnection, Status } from "@nats-io/nats-core";
import type { Sender } from "./sender.js";

/**
 * What becomes of a connection, and what NATS denies on it. All of its senders learn of a denial together, since an error names
 * the subject alone.
 */
export class ConnectionStatus {
  static readonly #ofConnections = new WeakMap<NatsConnection, ConnectionStatus>();

  readonly #senders = new Set<Sender>();
  readonly #status: AsyncIterable<Status>;
  /** The attempts that were open at each denial of a subject on which others are open, too. */
  readonly #counted = new Map<string, object[][]>();

  private constructor(private readonly nc: NatsConnection) {
    this.#status = nc.status();
    void this.#follow();
  }

  /** Returns that of a connection. A sender learns of it from now on. */
  static join(nc: NatsConnection, sender: Sender): ConnectionStatus {
    const status = ConnectionStatus.#ofConnections.get(nc) ?? new ConnectionStatus(nc);
    ConnectionStatus.#ofConnections.set(nc, status);
    status.#senders.add(sender);
    return status;
  }

  /** Ends what join has begun. */
  leave(sender: Sender): void {
    this.#senders.delete(sender);
    if (this.#senders.size > 0) return;
    ConnectionStatus.#ofConnections.delete(this.nc);
    (this.#status as { stop?(): void }).stop?.();
  }

  async #follow(): Promise<void> {
    for await (const status of this.#status) {
      if (status.type === "error") this.#deny(status.error);
      else if (status.type === "disconnect") for (const sender of this.#senders) sender.disconnected();
      else if (status.type === "reconnect") for (const sender of this.#senders) sender.reconnected();
    }
  }

  /**
   * Takes in a denial. An attempt that NATS did not publish had no effect. The error does not say which one it was: the
   * permission may be younger than some of those on the subject, whichever sender they are of. As many denials as there are
   * open attempts show that all were denied.
   */
  #deny(error: Error): void {
    const { name, operation, subject } = error as Error & { operation?: string; subject?: string };
    if (name !== "PermissionViolationError" || operation === "subscription" || subject === undefined) return;
    const senders = [...this.#senders];
    const open = senders.flatMap((sender) => sender.attemptsOn(subject));
    const before = this.#counted.get(subject) ?? [];
    this.#counted.delete(subject);
    const times = [...before.filter((were) => were.every((attempt) => open.includes(attempt))), open];
    if (times.length < open.length) this.#counted.set(subject, times);
    else for (const sender of senders) sender.deny(subject, error);
  }
}
