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

  /** Checks the signal of a call. */
  signal(signal: AbortSignal | undefined): void {
    this.rule(signal === undefined || signal instanceof AbortSignal, "signal", "be an AbortSignal", signal);
  }

  /** Checks metadata of a lock. The service checks their size. */
  metadata(metadata: Record<string, string>): void {
    const isRecord = isObject(metadata) && Object.values(metadata).every((value) => typeof value === "string");
    this.rule(isRecord, "metadata", "be an object whose members are strings", metadata);
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
}

function isObject(value: unknown): boolean {
  return typeof value === "object" && value !== null;
}
