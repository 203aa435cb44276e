/**
 * Scheduled jobs of NestJS that run once in a cluster.
 *
 * @module
 */
import { Inject, type InjectionToken } from "@nestjs/common";
import { Holdfast } from "./client.js";
import type { Lock } from "./lock.js";
import type { LockOptions } from "./options.js";

/** Options of {@link SchedulerLock}: those of a lock, and its shortest hold. */
export type SchedulerLockOptions = Omit<LockOptions, "wait" | "ifAvailable" | "signal"> & {
  /**
   * How long the job stays locked at least, in milliseconds, also if it ends at once, so that a process whose clock is
   * behind does not run it again. It is more than the clocks differ, and less than the time between two ticks; 0: the
   * job is locked while it runs.
   */
  minHold: number;
  /** The provider of the client; by default the class Holdfast. */
  client?: InjectionToken;
};

/** What {@link SchedulerLock} returns. */
export interface JobDecorator {
  /** @typeParam F - the type of the job, which is called with its lock */
  // eslint-disable-next-line @typescript-eslint/prefer-function-type -- a function type has no place for this comment
  <F extends (this: never, lock: Lock) => unknown>(target: object, key: string | symbol, descriptor: TypedPropertyDescriptor<F>): void;
}

/** The metadata by which Nest knows what decorators have said of a method. */
interface Metadata {
  getOwnMetadataKeys(of: object): unknown[];
  getOwnMetadata(key: unknown, of: object): unknown;
  defineMetadata(key: unknown, value: unknown, of: object): void;
}

/**
 * Runs a method of a provider, one with `@Cron`, `@Interval` or `@Timeout`, under a lock, in the process that has it
 * first. The method gets the lock: its fence for what it writes, its signal to end when the lock is lost. Nothing runs
 * while another process has the lock, or has had it within the shortest hold; nor while the former run of the same
 * process goes on. The order of the decorators does not matter.
 *
 * The scheduler logs what the method throws, and the errors of {@link Holdfast.request}: a LockLostError if the lock
 * was not held to the end, an UnavailableError if no node could decide, when nothing runs. The client is a provider:
 * `{ provide: Holdfast, useFactory: () => holdfast(nc) }`.
 *
 * @param name - the name of the lock, which all processes share
 */
export function SchedulerLock(name: string, { client = Holdfast, ...options }: SchedulerLockOptions): JobDecorator {
  return <F>(target: object, _key: string | symbol, descriptor: TypedPropertyDescriptor<F>): void => {
    const method = descriptor.value as unknown as (this: object, lock: Lock) => unknown;
    const property = Symbol(`client of the lock ${name}`);
    Inject(client)(target, property);
    const locked = function (this: { [property]: Holdfast }): Promise<unknown> {
      const run = (lock: Lock | null): unknown => lock === null ? undefined : method.call(this, lock);
      return this[property].request(name, { ...options, ifAvailable: true }, run);
    };
    const metadata = Reflect as unknown as Metadata;
    for (const key of metadata.getOwnMetadataKeys(method)) {
      metadata.defineMetadata(key, metadata.getOwnMetadata(key, method), locked);
    }
    descriptor.value = locked as unknown as F;
  };
}
