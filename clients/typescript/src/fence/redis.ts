/**
 * A guard for the keys of a Redis or Valkey, from 6.2 on, for `ioredis`, `redis` and others.
 *
 * Check, raising the mark and the write are one script, and a server runs one script at a time. The mark of a resource
 * is a key with 15 digits, below a prefix that is refused as a key of the caller: the same as those of the guards in Go
 * and Python. Redis does not roll a script back: if the write fails, the mark stays raised.
 *
 * Drivers send a command again when its answer is lost. Each write has a random number, which the server keeps with the
 * result for a minute; it makes the write once and answers a repetition with the first result.
 *
 * The store needs appendonly yes, appendfsync always, maxmemory-policy noeviction and one primary: a failover may lose
 * the newest marks. Deleting a mark lets lower tokens in again. Writes without the guard are not refused. In a cluster
 * the keys of a write are in the slot of the key that is named like the resource: see {@link tag}.
 *
 * @module
 */
import { parseFence } from "../fence.js";
import { randomText } from "../random.js";
import { hexOf } from "../sha256.js";
import { claimOf, invalid, type Claim, type Claims } from "./claim.js";
import { check, MalformedMarkError, StaleClaimError, UnknownWriteError, type FenceError } from "./rule.js";

/**
 * A client of `ioredis`, also of a cluster, or of `redis`; or a function that sends a command and returns its reply,
 * with bulk strings as strings: `(args) => cluster.sendCommand(args[3], false, args)` for a cluster of `redis`.
 */
export type Client = Calls | Sends | ((args: string[]) => Promise<unknown>);

/** A client of `ioredis`. */
export interface Calls {
  /** Sends a command. */
  call(command: string, args: string[]): Promise<unknown>;
}

/** A client of `redis`. */
export interface Sends {
  /** Sends a command. */
  sendCommand(args: string[]): Promise<unknown>;
}

/** Options of a {@link Guard}. */
export interface GuardOptions {
  /** The prefix of the keys of marks, `holdfast:mark:`. All writers of a key use the same one. */
  prefix?: string;
  /** Whether each token is accepted a single time, for a job that must not run twice under one grant. */
  once?: boolean;
}

const utf8 = new TextEncoder();

/** How long the server knows a write again, in milliseconds. */
const remembered = 60_000;

// The script of clients/fence/fenceredis, to the byte: servers know it by its hash.
const begin = "local write = function() ";
const condition = `
end
local changed = function() `;
const checks = `
end
local rule = table.remove(ARGV)
local token = table.remove(ARGV)
local remembered = table.remove(ARGV)
local made = table.remove(KEYS)
local mark = table.remove(KEYS)
local function reply(result)
	if type(result) == 'table' and result.err then return result end
	return {'passed', result or false}
end
local before = redis.call('GET', made)
if before == '' then return {'broken off'} end
if before then return reply(cmsgpack.unpack(before)) end -- mutant: RepetitionNotKnown
local highest = redis.pcall('GET', mark)
if highest then
	if type(highest) == 'table' then return {'foreign', highest.err} end
	if #highest ~= 15 or highest:find('%D') or highest < '000000000000001' or highest > '900000000000000' then
		return {'foreign', 'it is no token: ' .. highest}
	end
	if token < highest or rule == 'once' and token == highest then return {'refused', highest} end
end
if changed() then return {'changed'} end -- mutant: ChangeNotNoticed
redis.call('SET', made, '', 'PX', remembered)
if token ~= highest then redis.call('SET', mark, token) end
local result = write()
redis.call('SET', made, cmsgpack.pack(result or false), 'PX', remembered)
return reply(result)
`;

/** A write in Lua that runs on the server behind a guard's check. */
export class Script {
  /** What the server runs. */
  readonly source: string;
  #hash: Promise<string> | undefined;

  /**
   * @param body - that of a Lua function, as EVAL takes it. What varies belongs in KEYS and ARGV: the server keeps each
   * different body.
   * @param changed - of a Lua function that returns true where nothing is to be written; left out: never
   */
  constructor(body: string, changed = "") {
    this.source = begin + body + condition + changed + checks;
  }

  /** Returns by which name the server knows it. */
  async hash(): Promise<string> {
    const digest = (this.#hash ??= crypto.subtle.digest("SHA-1", utf8.encode(this.source)).then((bytes) => hexOf(new Uint8Array(bytes), 20)));
    return digest;
  }
}

const set = new Script("return redis.call('SET', KEYS[1], unpack(ARGV))");
const hset = new Script("for i = 1, #ARGV, 2 do redis.call('HSET', KEYS[1], ARGV[i], ARGV[i + 1]) end");
const del = new Script("for _, key in ipairs(KEYS) do redis.call('DEL', key) end");
const none = new Script("");
const modify = new Script("return redis.call('SET', KEYS[1], ARGV[1], 'KEEPTTL')", "return (redis.call('GET', KEYS[1]) or nil) ~= ARGV[2]");

/** Writes keys for the holder of the lock on them. */
export class Guard {
  readonly #send: (args: string[]) => Promise<unknown>;
  readonly #prefix: string;
  readonly #once: boolean;

  /** @throws InvalidError if the prefix is empty or has a brace. */
  constructor(client: Client, { prefix = "holdfast:mark:", once = false }: GuardOptions = {}) {
    if (prefix === "" || /[{}]/.test(prefix)) throw invalid(undefined, "the prefix must not be empty, nor have { or }, which choose a slot");
    this.#send = sender(client);
    this.#prefix = prefix;
    this.#once = once;
  }

  /** Makes a text the value of a key, and lets it expire after so many milliseconds; never if `ttl` is left out. */
  async set(claim: Claims, key: string, value: string, ttl?: number): Promise<void> {
    if (ttl !== undefined && (!Number.isInteger(ttl) || ttl < 1)) throw invalid(undefined, `the ttl must be whole milliseconds from 1 on, not ${ttl}`);
    await this.run(claim, set, [key], ttl === undefined ? [value] : [value, "PX", String(ttl)]);
  }

  /** Sets fields of the hash at a key; other fields stay as they are. */
  async hset(claim: Claims, key: string, fields: Record<string, string>): Promise<void> {
    const args = Object.entries(fields).flat();
    if (args.length === 0) throw invalid(undefined, "there must be a field");
    await this.run(claim, hset, [key], args);
  }

  /** Deletes keys; a missing key is no error. The mark stays. */
  async del(claim: Claims, ...keys: string[]): Promise<void> {
    if (keys.length === 0) throw invalid(undefined, "there must be a key");
    await this.run(claim, del, keys);
  }

  /**
   * Makes the value of a key what a function makes of the text there, null if there is none, on the condition that it is
   * unchanged since. Otherwise it reads again and calls the function again, until the signal aborts, so no other change
   * is lost. The key keeps its expiry. If the function fails, nothing is written. The text must be valid UTF-8 without
   * U+FFFD, which stands for bytes that the driver could not decode.
   */
  async modify(claim: Claims, key: string, change: (old: string | null) => string | Promise<string>, signal?: AbortSignal): Promise<void> {
    const shown = claimOf(claim);
    for (;;) {
      signal?.throwIfAborted();
      // A script, which drivers send to no replica.
      const reply = await this.#send(["EVAL", "return {redis.call('GET', KEYS[1])}", "1", key]);
      const old: unknown = Array.isArray(reply) && reply.length === 1 ? (reply as unknown[])[0] : undefined;
      if (old !== null && (typeof old !== "string" || old.includes("\ufffd"))) throw invalid(shown.resource, `the value of ${JSON.stringify(key)} is no text`);
      const value = await change(old);
      if ((await this.#run(shown, modify, [key], old === null ? [value] : [value, old])) !== changed) return;
    }
  }

  /** Raises the mark and writes nothing else. Call it before reading a hash or several keys. */
  async raise(claim: Claims): Promise<void> {
    await this.run(claim, none, []);
  }

  /**
   * Runs a script of the caller's own behind the check, and returns its result as the driver does. If it stops with an
   * error, the mark stays raised and what it had written stays written.
   *
   * @throws StaleClaimError if the claim was refused, InvalidError if the claim or a key breaks a rule, and
   * MalformedMarkError if the mark is not one; nothing was written then. Any other error is an UnknownWriteError.
   */
  async run(claim: Claims, script: Script, keys: string[], args: string[] = []): Promise<unknown> {
    return this.#run(claimOf(claim), script, keys, args);
  }

  /** Returns the key of the resource's mark, for an operator. It holds 15 digits, or does not exist. */
  markKey(resource: string): string {
    const key = this.#prefix + tag(resource);
    // The tag ends at the first closing brace: what follows is the resource, and nothing follows above.
    return innerOf(resource) === resource ? key : key + resource;
  }

  async #run(claim: Claim, script: Script, keys: string[], args: string[]): Promise<unknown> {
    const reserved = keys.find((key) => key.startsWith(this.#prefix));
    if (reserved !== undefined) throw invalid(claim.resource, `key ${JSON.stringify(reserved)}: the marks are below ${this.#prefix}`);
    const write = `${this.#prefix}${tag(claim.resource)}:write:${randomText()}`;
    const all = [...keys, this.markKey(claim.resource), write];
    const rest = [String(all.length), ...all, ...args, String(remembered), claim.fence, this.#once ? "once" : "repeatable"];
    const hash = await script.hash();
    const begun = [Date.now(), performance.now()] as const; // the second clock may stand still while a machine sleeps
    let reply: unknown;
    try {
      reply = await this.#send(["EVALSHA", hash, ...rest]).catch((error: unknown) => {
        if (!hasCode(error, "NOSCRIPT")) throw error;
        return this.#send(["EVAL", script.source, ...rest]); // a server that says so has run nothing
      });
    } catch (cause) {
      if (hasCode(cause, "CROSSSLOT")) throw invalid(claim.resource, `in a cluster a key must be named like the resource, or have the tag ${tag(claim.resource)}`);
      throw unknown(claim, String(cause), cause);
    }
    if (Math.max(Date.now() - begun[0], performance.now() - begun[1]) >= remembered) {
      throw unknown(claim, "the reply came after more than a minute; let the driver try for less");
    }
    return this.#result(claim, reply);
  }

  #result(claim: Claim, reply: unknown): unknown {
    const [verdict, detail] = Array.isArray(reply) ? (reply as unknown[]) : [];
    switch (verdict) {
      case "passed":
        return detail;
      case "changed":
        return changed;
      case "refused":
        throw refused(claim, String(detail));
      case "foreign":
        throw new MalformedMarkError(`${JSON.stringify(claim.resource)}, key ${this.markKey(claim.resource)}: ${String(detail).slice(0, 200)}`);
      case "broken off":
        throw unknown(claim, "the script stopped half-way at the first try; what it had written stays");
    }
    throw unknown(claim, `the reply is not the script's: ${String(reply).slice(0, 100)}`);
  }
}

/** Says that the claim passed, and that the key has changed since it was read. Nothing was written. */
const changed = Symbol("changed");

/** Returns what sends a command of one client or the other. That of ioredis has both methods. */
function sender(client: Client): (args: string[]) => Promise<unknown> {
  if (typeof client === "function") return client;
  if ("call" in client) return ([command = "", ...args]) => client.call(command, args);
  return (args) => client.sendCommand(args);
}

/**
 * Returns the hash tag, braces included, by which a key is in the slot of the mark of a resource in a cluster:
 * `tag("orders.42") + ":items"`. The key that is named like the resource needs none, unless the resource has a } outside
 * of a hash tag.
 */
export function tag(resource: string): string {
  return `{${innerOf(resource)}}`;
}

/** Returns what Redis would hash, if the resource were a key. A brace that would end the tag too early is replaced. */
function innerOf(resource: string): string {
  return /^[^{]*\{([^}]+)\}/.exec(resource)?.[1] ?? resource.replaceAll("}", "%7D");
}

function refused(claim: Claim, highest: string): FenceError {
  try {
    check(claim, parseFence(highest), true);
  } catch (error) {
    if (error instanceof StaleClaimError) return error;
  }
  return unknown(claim, `the reply is not the script's: refused, ${highest.slice(0, 100)}`);
}

function unknown(claim: Claim, detail: string, cause?: unknown): UnknownWriteError {
  return new UnknownWriteError(`${JSON.stringify(claim.resource)}: the write may have been made: ${detail}`, { cause });
}

/** Reports whether an error is the server's reply of this code. */
function hasCode(error: unknown, code: string): boolean {
  return error instanceof Error && error.message.startsWith(`${code} `);
}
