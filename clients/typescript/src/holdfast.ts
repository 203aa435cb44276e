import type { NatsConnection } from "@nats-io/nats-core";
import type { LockEvent } from "./event.js";
import type { Lock } from "./lock.js";
import type { LockOptions, Options } from "./options.js";
import type { LockInfo, LockState, PendingInfo } from "./state.js";

/** A client. */
export abstract class Holdfast {
  abstract readonly owner: string;
  abstract acquire(name: string, options?: LockOptions): Promise<Lock>;
  abstract request<T>(name: string, callback: (lock: Lock) => T | Promise<T>): Promise<T>;
  abstract request<T>(name: string, options: LockOptions, callback: (lock: Lock | null) => T | Promise<T>): Promise<T>;
  abstract get(name: string): Promise<LockState>;
  abstract query(pattern?: string): Promise<{ held: LockInfo[]; pending: PendingInfo[] }>;
  abstract watch(pattern?: string, options?: { signal?: AbortSignal }): AsyncIterableIterator<LockEvent>;
  abstract close(): Promise<void>;
  abstract [Symbol.asyncDispose](): Promise<void>;
}

export declare function holdfast(nc: NatsConnection, options?: Options): Holdfast;
