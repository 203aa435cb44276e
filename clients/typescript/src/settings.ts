import { InvalidError } from "./errors.js";
import { normalizeName, encodeKey } from "./key.js";
import type { CallOptions, LockOptions, Options } from "./options.js";
import { randomText } from "./random.js";
import type { LockMode } from "./state.js";
import { newSecret, type Secret } from "./secret.js";
import { contract, readers, type Limits } from "./wire.js";

const mostMillis = 0xffffffff;
const mostPermits = 1000;

/** What a client was made with. */
export interface Settings {
  readonly owner: string;
  readonly ttl: number;
  readonly timeout: number;
  readonly prefix: string;
  readonly sessions: boolean;
  readonly secret: Secret;
  readonly onJeopardy: Options["onJeopardy"];
}

/** What a lock is asked for with. */
export interface Terms {
  readonly name: string;
  readonly key: string;
  readonly ttl: number;
  /** 0: does not wait; Infinity: without a bound. */
  readonly wait: number;
  readonly mode: LockMode;
  /** 0: exclusive. */
  readonly limit: number;
  readonly permits: number;
  readonly metadata: Readonly<Record<string, string>> | undefined;
  readonly ephemeral: boolean;
  readonly renew: boolean;
}

/** The type of each option; "any" of one that has a rule of its own. */
const clientOptions = {
  owner: "any", ttl: "any", timeout: "any", prefix: "any", sessions: "boolean", secret: "any", onJeopardy: "function",
};
const lockOptions = {
  ttl: "any", wait: "any", ifAvailable: "boolean", mode: "any", permits: "any", limit: "any", metadata: "any", ephemeral: "boolean",
  renew: "boolean", signal: "any",
};

/** Returns the settings of a client. */
export function settingsOf(options: Options): Settings {
  const check = new Check("open");
  check.known(options, clientOptions);
  const { prefix = "holdfast", owner = randomText(), secret } = options;
  check.rule(/^[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*$/.test(prefix), "prefix", "consist of A-Z a-z 0-9 _ - and single dots", prefix);
  const bytes = new TextEncoder().encode(owner).length;
  check.rule(typeof owner === "string" && bytes >= 1 && bytes <= 256, "owner", "have 1 to 256 bytes of UTF-8", owner);
  check.rule(
    secret === undefined || (secret instanceof Uint8Array && secret.length >= 16 && secret.length <= 64),
    "secret",
    "have 16 to 64 bytes",
    secret?.length,
  );
  return {
    owner,
    prefix,
    ttl: check.ttl(options.ttl ?? 30_000),
    timeout: check.millis("timeout", options.timeout ?? 15_000),
    sessions: options.sessions ?? true,
    secret: newSecret(secret),
    onJeopardy: options.onJeopardy?.bind(options),
  };
}

/** Returns the signal of a call that takes no other option. */
export function signalOf(operation: string, options: CallOptions): AbortSignal | undefined {
  const check = new Check(operation);
  check.known(options, { signal: "any" });
  return check.signal(options);
}

/** Returns the terms of a lock. */
export function termsOf(name: string, options: LockOptions, settings: Settings): Terms {
  const resource = normalizeName(name, "acquire");
  const check = new Check("acquire", resource);
  check.known(options, lockOptions);
  check.signal(options);
  const { wait = Infinity, ifAvailable = false, mode, permits = 1, metadata } = options;
  check.rule([undefined, "exclusive", "shared"].includes(mode), "mode", 'be "exclusive" or "shared"', mode);
  check.rule(typeof wait === "number" && wait >= 0, "wait", "be a number of milliseconds from 0 on", wait);
  check.rule(!ifAvailable || options.wait === undefined || wait === 0, "wait", "be left out beside ifAvailable", wait);
  const limit = limitOf(check, options);
  check.rule(Number.isInteger(permits) && permits >= 1 && permits <= mostPermits, "permits", `be an integer from 1 to ${mostPermits}`, permits);
  check.rule(permits <= Math.max(limit, 1), "permits", `be at most the limit, ${Math.max(limit, 1)}`, permits);
  if (metadata !== undefined) checkMetadata(check, metadata);
  return {
    name: resource,
    key: encodeKey(resource),
    ttl: check.ttl(options.ttl ?? settings.ttl),
    wait: ifAvailable ? 0 : Math.ceil(wait),
    mode: limit > 1 ? "shared" : "exclusive",
    limit: limit > 1 ? limit : 0,
    permits,
    metadata: metadata === undefined ? undefined : { ...metadata },
    ephemeral: options.ephemeral ?? false,
    renew: options.renew ?? true,
  };
}

/**
 * Checks a TTL that a lock is to be extended to. A client that asks for less than is left must count with it at once, so it
 * asks for nothing that the service refuses.
 */
export function checkTTL(ttl: number, { min_ttl_ms: least, max_ttl_ms: most }: Limits, resource: string): void {
  new Check("extend", resource).millis("ttl", ttl, least, most);
}

/** Checks metadata that a lock is to have. The service checks their size. */
export function checkSet(metadata: Record<string, string>, resource: string): void {
  checkMetadata(new Check("set", resource), metadata);
}

function limitOf(check: Check, { mode, limit }: LockOptions): number {
  if (limit === undefined) return mode === "shared" ? readers : 0;
  check.rule(mode !== "shared", "limit", 'be left out beside mode "shared", which has none', limit);
  check.rule(Number.isInteger(limit) && limit >= 1 && limit <= readers, "limit", `be an integer from 1 to ${readers}`, limit);
  check.rule(mode !== "exclusive" || limit === 1, "limit", "be left out of an exclusive lock", limit);
  return limit;
}

function checkMetadata(check: Check, metadata: Record<string, string>): void {
  const isRecord = isObject(metadata) && Object.values(metadata).every((value) => typeof value === "string");
  check.rule(isRecord, "metadata", "be an object whose members are strings", metadata);
}

function isObject(value: unknown): boolean {
  return typeof value === "object" && value !== null;
}

/** Checks the arguments of one call. */
class Check {
  constructor(
    private readonly operation: string,
    private readonly resource?: string,
  ) {}

  rule(holds: boolean, member: string, rule: string, value: unknown): void {
    if (holds) return;
    const shown = typeof value === "string" ? JSON.stringify(value.slice(0, 80)) : String(value);
    throw new InvalidError({ operation: this.operation, resource: this.resource, detail: `${member} must ${rule}, not ${shown}` });
  }

  /** Refuses options that there are not, because a misspelt one would have no effect, and those of another type. */
  known(options: object, types: Readonly<Record<string, string>>): void {
    this.rule(isObject(options), "options", "be an object", options);
    for (const [name, value] of Object.entries(options) as [string, unknown][]) {
      const advice = name === "steal" ? "; an operator ends a lease with `holdfast break`" : "";
      const detail = `there is no option ${JSON.stringify(name)}, there are ${Object.keys(types).join(", ")}${advice}`;
      if (!Object.hasOwn(types, name)) throw new InvalidError({ operation: this.operation, resource: this.resource, detail });
      this.rule(value === undefined || ["any", typeof value].includes(types[name] ?? ""), name, `be a ${types[name]}`, value);
    }
  }

  /** Returns the signal of a call. */
  signal({ signal }: CallOptions): AbortSignal | undefined {
    this.rule(signal === undefined || signal instanceof AbortSignal, "signal", "be an AbortSignal", signal);
    return signal;
  }

  /** Checks a time. */
  millis(member: string, value: number, least = 1, most = mostMillis): number {
    const holds = Number.isInteger(value) && value >= least && value <= most;
    this.rule(holds, member, `be a whole number of milliseconds from ${least} to ${most}`, value);
    return value;
  }

  /** Checks a TTL. A deployment may allow less. */
  ttl(value: number): number {
    return this.millis("ttl", value, contract.min_ttl_ms, contract.max_ttl_ms);
  }
}
