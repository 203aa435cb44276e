import type { NatsConnection, Subscription } from "@nats-io/nats-core";

/** How many subscriptions a client has. */
const maxSubscriptions = 1000;

/** Follows the ends of the leases of a key. */
export interface Follower {
  readonly key: string;
  /** An event says that the lease of this token has ended. */
  received(token: bigint): void;
}

/**
 * Subscriptions to the events of leases that are held. A user who may not subscribe gets one error, not one for each
 * lock.
 */
export class Ends {
  readonly #followers = new Map<Follower, Subscription | undefined>();
  #state: "unknown" | "trying" | "proven" | "refused" = "unknown";

  constructor(
    private readonly nc: NatsConnection,
    private readonly prefix: string,
  ) {}

  /** Reports the end of the lease to the follower from now on. */
  add(follower: Follower): void {
    if (this.#state === "refused" || this.#followers.size >= maxSubscriptions) return;
    this.#followers.set(follower, undefined);
    if (this.#state === "proven") this.#subscribe(follower);
    else if (this.#state === "unknown") {
      this.#state = "trying";
      this.#subscribe(follower);
      void this.#prove();
    }
  }

  /** Reports nothing more to the follower. */
  remove(follower: Follower): void {
    unsubscribe(this.#followers.get(follower));
    this.#followers.delete(follower);
  }

  close(): void {
    this.#state = "refused";
    for (const subscription of this.#followers.values()) unsubscribe(subscription);
    this.#followers.clear();
  }

  #subscribe(follower: Follower): void {
    if (this.nc.isClosed() || this.nc.isDraining()) return;
    const subscription = this.nc.subscribe(`${this.prefix}.event.${follower.key}`, {
      callback: (error, message) => {
        if (error !== null) {
          this.close();
          return;
        }
        const token = message.headers?.get("Fencing-Token") ?? "";
        const ends = ["RELEASED", "EXPIRED", "BROKEN"].includes(message.headers?.get("Holdfast-Event") ?? "");
        if (ends && /^[0-9]{1,15}$/.test(token)) follower.received(BigInt(token));
      },
    });
    this.#followers.set(follower, subscription);
  }

  /** Waits until the server has taken the first subscription, and subscribes to the rest. */
  async #prove(): Promise<void> {
    try {
      await this.nc.flush();
    } catch {
      if (this.#state === "trying") this.#state = "unknown";
      return;
    }
    if (this.#state !== "trying") return;
    this.#state = "proven";
    for (const [follower, subscription] of this.#followers) if (subscription === undefined) this.#subscribe(follower);
  }
}

function unsubscribe(subscription: Subscription | undefined): void {
  if (subscription?.isClosed() === false) subscription.unsubscribe();
}
