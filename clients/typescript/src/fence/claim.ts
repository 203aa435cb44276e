import { InvalidError } from "../errors.js";
import { formatFence, last, parseFence } from "../fence.js";
import { normalizeName } from "../key.js";

/** A lock that is held: `Lock` of `@holdfast-io/client`. */
export interface Held {
  /** The resource. */
  readonly name: string;
  /** The number of the grant. */
  readonly token: bigint;
  /** What the protected resource compares. */
  readonly fence: string;
  /** The numbers of the permits. */
  readonly slots: readonly number[];
}

/** A resource and the token of a lease on it. It cannot be changed. */
export class Claim {
  /** The name of the lock, in Unicode NFC; of a slot, `<name>#<slot>`. */
  readonly resource: string;
  /** What is compared, as a number. */
  readonly token: bigint;

  /**
   * @param resource - the name of the lock, in Unicode NFC, as `lock.name` has it; for a slot, `<name>#<slot>`
   * @param fence - the fence of the lease, 15 digits or a number; for a slot, the token of the lease
   * @throws InvalidError if the resource is no name of a lock, or the fence is not 1 to 900 000 000 000 000.
   */
  constructor(resource: string, fence: string | bigint) {
    const token = typeof fence === "string" ? parseFence(fence) : fence;
    if (normalizeName(resource, "fence") !== resource) {
      throw invalid(resource, 'the resource must be in Unicode NFC; use lock.name, or normalize("NFC")');
    }
    if (typeof token !== "bigint" || token < 1n || token > last) {
      throw invalid(resource, `the fence must be 1 to ${String(last)}, not ${String(token)}`);
    }
    this.resource = resource;
    this.token = token;
  }

  /** What is compared, as 15 digits. */
  get fence(): string {
    return formatFence(this.token);
  }

  /**
   * Returns the claim of a lock.
   *
   * @param slot - one of `lock.slots`, whose part of the resource is written; undefined: the lock has no slots
   * @throws InvalidError if the lock has slots and none was chosen, or it does not have this one.
   */
  static of(lock: Held, slot?: number): Claim {
    if (slot === undefined && lock.slots.length === 0) return new Claim(lock.name, lock.fence);
    if (slot === undefined || !lock.slots.includes(slot)) {
      throw invalid(lock.name, `the slot must be one of ${lock.slots.join(", ")}, not ${String(slot)}`);
    }
    return new Claim(`${lock.name}#${slot}`, lock.token);
  }

  /**
   * Returns the claim that a request over NATS or HTTP carries.
   *
   * @param headers - those of the request: `Headers`, or those of a message of NATS
   * @param resource - what the service protects, if that is one thing: the request may leave it out, and may not name
   * another
   * @throws InvalidError if the claim is missing, malformed, or of another resource. A header that is sent twice is
   * malformed.
   */
  static fromHeaders(headers: { get(name: string): string | null }, resource?: string): Claim {
    const fence = headers.get("Fencing-Token");
    const named = headers.get("Fencing-Resource");
    if (fence === null || fence === "") throw invalid(resource, "the request has no Fencing-Token; send it with lock.headers()");
    const shown = named === null || named === "" ? resource : named;
    if (shown === undefined) throw invalid(undefined, "the request has no Fencing-Resource; send it with lock.headers()");
    const claim = new Claim(shown, fence);
    if (resource !== undefined && claim.resource !== resource) {
      throw invalid(resource, `the request is of ${JSON.stringify(claim.resource)}`);
    }
    return claim;
  }
}

/** What guards take: a claim, or the lock itself if it has no slots. */
export type Claims = Claim | Held;

/** Returns the claim. */
export function claimOf(claim: Claims): Claim {
  return claim instanceof Claim ? claim : Claim.of(claim);
}

/** Returns the error of an argument that breaks a rule. */
export function invalid(resource: string | undefined, detail: string): InvalidError {
  return new InvalidError({ operation: "fence", resource, detail });
}
