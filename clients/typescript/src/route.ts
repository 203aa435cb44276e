import type { Msg } from "@nats-io/nats-core";
import type { Clock } from "./clock.js";
import { shardOf } from "./key.js";
import type { Operation } from "./wire.js";

/**
 * How long direct subjects are avoided after one did not answer where the front subject did. It doubles each time that
 * happens again, until a direct subject answers: subjects that are closed to the user are tried rarely.
 */
const minDetour = 1000;
const maxDetour = 30_000;
/** The header with the generation of the shards that the service has, in answers on a direct subject of another one. */
const generationHeader = "Holdfast-Generation";

/** Where an attempt goes: to any node, or directly to the owner of the shard. */
export class Route {
  constructor(
    private readonly prefix: string,
    readonly operation: Operation,
    /** That of a resource or a session; of a listing and of info it is empty. */
    readonly key: string,
    /** As it stands in subjects. Undefined: to any node. */
    readonly shard?: string,
  ) {}

  /** To the owner of the shard, not to any node. */
  get direct(): boolean {
    return this.shard !== undefined;
  }

  get subject(): string {
    const { prefix, operation, key, shard } = this;
    if (key === "") return `${prefix}.${operation}`;
    return shard === undefined ? `${prefix}.${operation}.${key}` : `${prefix}.shard.${shard}.${operation}.${key}`;
  }
}

/** Chooses the subjects of requests. */
export class Router {
  #shards = 0;
  #generation = 0;
  #detourUntil = -Infinity;
  #detour = 0;

  constructor(
    readonly prefix: string,
    private readonly clock: Clock,
  ) {}

  /** How many shards there are; 0: not known, so all requests go to any node. */
  get shards(): number {
    return this.#shards;
  }

  /** Sets how many shards there are, and their generation. Returns whether there were others before. */
  divide(shards: number, generation: number): boolean {
    const isNew = shards !== this.#shards || generation !== this.#generation;
    this.#shards = shards;
    this.#generation = generation;
    return isNew;
  }

  /** Returns the shard of a key as it stands in subjects. How many there are must be known. */
  shard(key: string): string {
    const number = String(shardOf(key, this.#shards));
    return this.#generation === 0 ? number : `${this.#generation}-${number}`;
  }

  /**
   * Reports whether an answer names another generation than the known one, so that there may be other shards. Anybody
   * who can answer may have made it up.
   */
  isOld({ headers }: Pick<Msg, "headers">): boolean {
    const present = headers?.get(generationHeader) ?? "";
    return present !== "" && this.#shards > 0 && present !== String(this.#generation);
  }

  /**
   * Returns where the nth attempt, counted from 0, of a request goes: every other one to any node, and all without a
   * key.
   */
  route(operation: Operation, key: string | undefined, n: number, shard?: string): Route {
    if (key === undefined || this.#shards === 0 || n % 2 === 1 || this.#isDetour) return new Route(this.prefix, operation, key ?? "");
    return new Route(this.prefix, operation, key, shard ?? this.shard(key));
  }

  /** Returns the subject of the batches of a shard. */
  batch(shard: string): string {
    return `${this.prefix}.shard.${shard}.batch`;
  }

  /** Notes that a direct subject did not answer, and the front subject did. */
  avoid(): void {
    const now = this.clock.now();
    if (now < this.#detourUntil) return;
    this.#detour = Math.min(Math.max(2 * this.#detour, minDetour), maxDetour);
    this.#detourUntil = now + this.#detour;
  }

  /** Notes that a direct subject answered. */
  proven(): void {
    this.#detour = 0;
    this.#detourUntil = -Infinity;
  }

  get #isDetour(): boolean {
    return this.#detourUntil !== -Infinity && this.clock.now() < this.#detourUntil;
  }
}
