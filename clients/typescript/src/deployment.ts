import { exchange, type Line } from "./exchange.js";
import { unless } from "./signals.js";
import { contract, type Info, type Limits } from "./wire.js";

/** How long the first calls wait for the answer, so that they know what they may use. */
const maxPatience = 500;
/** The shortest time between two questions. */
const minPause = 10_000;
const maxPause = 3_600_000;
/** What an answer may say of the number of shards, and of their generation. */
const maxShards = 0xffffffff;

/**
 * What the service says about itself, as soon as it is known. Until then a client uses nothing that a service may lack.
 */
export class Deployment {
  /** The shortest and the longest lease, and the longest time in the queue, that a request may ask for. */
  limits: Limits = contract;
  /** Is called when there are other shards than before. */
  divided: () => void = () => undefined;
  #info: Info | undefined;
  #features: ReadonlySet<string> = new Set();
  /** All nodes have the version of the one that has answered. */
  #isUniform = false;
  #asking: Promise<void> | undefined;
  #asked = -Infinity;
  #pause = minPause;
  readonly #patience: number;

  constructor(private readonly line: Line) {
    this.#patience = line.clock.now() + Math.min(maxPatience, line.settings.timeout / 3);
  }

  /** How many shards there are; 0: not known. */
  get shards(): number {
    return this.line.router.shards;
  }

  /**
   * Waits a moment for the answer when the client has just begun, at most until the signal aborts; for what cannot do
   * without it, until there is an answer or the client gives up to ask for one.
   * Returns undefined if there is nothing to wait for.
   */
  known(signal?: AbortSignal, isNeeded = false): Promise<void> | undefined {
    this.refresh();
    const { alarms, clock } = this.line;
    const patience = isNeeded ? Infinity : this.#patience;
    if (this.#info !== undefined || this.#asking === undefined || clock.now() >= patience) return undefined;
    const answer = isNeeded ? this.#asking : Promise.race([this.#asking, alarms.wait(patience)]);
    return unless(signal, answer).catch(() => undefined);
  }

  /** What the service says is known. */
  get isKnown(): boolean {
    return this.#info !== undefined;
  }

  /** Reports whether the service names a feature. Some are named only while every node has them. */
  names(feature: string): boolean {
    return this.#features.has(feature);
  }

  /** Reports whether every node has a feature. Nodes of another version may refuse its fields. */
  offers(feature: string): boolean {
    return this.#isUniform && this.names(feature);
  }

  /** Asks again, though not too often. */
  refresh(): void {
    const now = this.line.clock.now();
    if (this.#asking !== undefined) return;
    if (now < this.#asked + (this.#info === undefined ? this.#pause : minPause)) return; // mutant: TypeScriptDoubtWithoutAPause
    if (this.#asked !== -Infinity && this.#info === undefined) this.#pause = Math.min(2 * this.#pause, maxPause);
    this.#asked = now;
    this.#asking = this.#ask(now + this.line.settings.timeout).finally(() => {
      this.#asking = undefined;
    });
  }

  async #ask(deadline: number): Promise<void> {
    const { answer } = await exchange(this.line, { operation: "info", body: () => ({}), deadline });
    const info = answer?.json as Info | undefined;
    const { shards, generation = 0 } = info ?? {};
    if (answer?.reply !== undefined || !isNumber(shards) || !isNumber(generation)) return;
    this.#info = info;
    const nodes: unknown = info?.nodes;
    this.#isUniform =
      Array.isArray(nodes) && nodes.every((node: { version?: string } | null) => node?.version === info?.version);
    this.#features = new Set(Array.isArray(info?.features) ? info.features : []);
    this.limits = { ...contract, ...info?.limits };
    this.line.sender.batching.offered = this.names("batch");
    if (this.line.router.divide(shards, generation)) this.divided();
  }
}

/** Reports whether an answer may say so of the shards. */
function isNumber(value: unknown): value is number {
  return Number.isInteger(value) && (value as number) >= 0 && (value as number) <= maxShards;
}
