import { InvalidError } from "./errors.js";
import { contract } from "./wire.js";

const maxMillis = 0xffffffff;

/** Checks the arguments of one call. */
export class Check {
  constructor(
    private readonly operation: string,
    private readonly resource?: string,
  ) {}

  rule(holds: boolean, member: string, rule: string, value: unknown): void {
    if (holds) return;
    const shown = typeof value === "string" ? JSON.stringify(value.slice(0, 80)) : String(value);
    this.#fail(`${member} must ${rule}, not ${shown}`);
  }

  /** Refuses options that there are not, because a misspelt one would have no effect, and those of another type. */
  known(options: object, types: Readonly<Record<string, string>>): void {
    this.rule(isObject(options), "options", "be an object", options);
    for (const [name, value] of Object.entries(options) as [string, unknown][]) {
      const type = Object.hasOwn(types, name) ? types[name] : undefined;
      if (type === undefined) {
        const advice = name === "steal" ? "; an operator ends a lease with `holdfast break`" : "";
        this.#fail(`there is no option ${JSON.stringify(name)}, there are ${Object.keys(types).join(", ")}${advice}`);
      }
      this.rule(value === undefined || type === "any" || type === typeof value, name, `be a ${type}`, value);
    }
  }

  /** Checks the signal of a call. */
  signal(signal: AbortSignal | undefined): void {
    this.rule(signal === undefined || signal instanceof AbortSignal, "signal", "be an AbortSignal", signal);
  }

  /** Checks metadata of a lock. The service checks their size. */
  metadata(metadata: Record<string, string>): void {
    const isRecord = isObject(metadata) && Object.values(metadata).every((value) => typeof value === "string");
    this.rule(isRecord, "metadata", "be an object whose members are strings", metadata);
  }

  integer(member: string, value: number, max: number): void {
    this.rule(Number.isInteger(value) && value >= 1 && value <= max, member, `be an integer from 1 to ${max}`, value);
  }

  /** Checks a time. */
  millis(member: string, value: number, min = 1, max = maxMillis): number {
    const holds = Number.isInteger(value) && value >= min && value <= max;
    this.rule(holds, member, `be a whole number of milliseconds from ${min} to ${max}`, value);
    return value;
  }

  /** Checks a TTL. A deployment may allow less. */
  ttl(value: number): number {
    return this.millis("ttl", value, contract.min_ttl_ms, contract.max_ttl_ms);
  }

  #fail(detail: string): never {
    throw new InvalidError({ operation: this.operation, resource: this.resource, detail });
  }
}

function isObject(value: unknown): boolean {
  return typeof value === "object" && value !== null;
}
