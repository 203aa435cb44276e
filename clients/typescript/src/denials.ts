import type { NatsConnection, Status } from "@nats-io/nats-core";
import type { Sender } from "./sender.js";

/** What NATS denies on a connection. All of its senders hear of it together, since an error names the subject alone. */
export class Denials {
  static readonly #ofConnections = new WeakMap<NatsConnection, Denials>();

  readonly #senders = new Set<Sender>();
  readonly #status: AsyncIterable<Status>;
  /** The attempts that were open at each denial of a subject on which others are open, too. */
  readonly #counted = new Map<string, object[][]>();

  private constructor(private readonly nc: NatsConnection) {
    this.#status = nc.status();
    void this.#follow();
  }

  /** Returns those of a connection, which a sender hears from now on. */
  static hear(nc: NatsConnection, sender: Sender): Denials {
    const denials = Denials.#ofConnections.get(nc) ?? new Denials(nc);
    Denials.#ofConnections.set(nc, denials);
    denials.#senders.add(sender);
    return denials;
  }

  /** Ends what hear has begun. */
  ignore(sender: Sender): void {
    this.#senders.delete(sender);
    if (this.#senders.size > 0) return;
    Denials.#ofConnections.delete(this.nc);
    (this.#status as { stop?(): void }).stop?.();
  }

  async #follow(): Promise<void> {
    for await (const status of this.#status) {
      if (status.type === "error") this.#deny(status.error);
    }
  }

  /**
   * Takes in a denial. An attempt that NATS did not publish had no effect. The error does not say which one it was: the
   * permission may be younger than some of those on the subject, whichever sender they are of. As many denials as there are
   * open attempts show that all were denied.
   */
  #deny(error: Error): void {
    const { name, operation, subject } = error as Error & { operation?: string; subject?: string };
    if (name !== "PermissionViolationError" || subject === undefined) return;
    const senders = [...this.#senders];
    if (operation === "subscription") {
      senders.find((sender) => sender.receives(subject))?.deafen(error);
      return;
    }
    const open = senders.flatMap((sender) => sender.attemptsOn(subject));
    const before = this.#counted.get(subject) ?? [];
    this.#counted.delete(subject);
    const times = [...before.filter((were) => were.every((attempt) => open.includes(attempt))), open];
    if (times.length < open.length) this.#counted.set(subject, times);
    else for (const sender of senders) sender.deny(subject, error);
  }
}
