import type { LockMode } from "./state.js";

/** A lock that is held. */
export abstract class Lock {
  abstract readonly name: string;
  abstract readonly owner: string;
  abstract readonly mode: LockMode;
  abstract readonly slots: readonly number[];
  abstract readonly token: bigint;
  abstract readonly fence: string;
  abstract readonly signal: AbortSignal;
  abstract readonly valid: boolean;
  abstract readonly remaining: number;
  abstract headers(): { "Fencing-Token": string; "Fencing-Resource": string };
  abstract extend(ttl?: number): Promise<void>;
  abstract set(metadata: Record<string, string>): Promise<void>;
  abstract release(): Promise<void>;
  abstract [Symbol.asyncDispose](): Promise<void>;
}
