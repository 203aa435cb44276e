import { Check } from "./check.js";
import type { Core } from "./core.js";
import { refused } from "./failures.js";
import { encodeKey, normalizeName } from "./key.js";
import type { CallOptions } from "./signals.js";

/** Options of {@link Holdfast.break}. */
export interface BreakOptions extends CallOptions {
  /** Why, for events and logs. */
  reason?: string;
}

/** Options of {@link Holdfast.confirm}. */
export interface ConfirmOptions extends CallOptions {
  /** Who confirms, at most 256 bytes, for events and logs. */
  by?: string;
  /** How the holder was stopped, at most 512 bytes. */
  how?: string;
}

/** Takes a lease away. */
export async function breakLease(core: Core, name: string, token: bigint, options: BreakOptions): Promise<void> {
  await end(core, "break", name, token, options, { reason: "string", signal: "any" });
}

/** Confirms a loss, where the deployment can hold a lock back. */
export async function confirmLoss(core: Core, name: string, token: bigint, options: ConfirmOptions): Promise<void> {
  await end(core, "confirm", name, token, options, { by: "string", how: "string", signal: "any" });
}

/** Ends what the token of a lease names. */
async function end(
  core: Core,
  operation: "break" | "confirm",
  name: string,
  token: bigint,
  options: CallOptions,
  known: Readonly<Record<string, string>>,
): Promise<void> {
  const what = { operation, resource: normalizeName(name, operation) };
  const check = new Check(operation, what.resource);
  check.known(options, known);
  const { signal, ...texts } = options;
  check.signal(signal);
  check.rule(typeof token === "bigint" && token > 0n, "token", "be the bigint of a lease, 1 or more", token);
  const body = { token: token.toString(), ...texts };
  const answer = await core.ask(what, { operation, key: encodeKey(what.resource), body: () => body, signal }, true);
  if (answer.reply?.status !== "RELEASED") throw refused(what, answer.reply ?? {});
}
