/**
 * A guard for the rows of a PostgreSQL database, inside the transaction that writes them, for `pg`.
 *
 * Mark and writes become durable together or not at all. A check locks the mark until the transaction ends, and the next
 * check of the resource waits, so a transaction that passed is over before a higher token passes, at each isolation
 * level. The marks are rows of a table, the same as those of the guards in Go and Python. The store needs the defaults
 * fsync = on and synchronous_commit = on; where a replica may take over, a commit must wait for it. Marks are never
 * removed: after the deletion of a mark every token passes. Writes without the guard are not refused.
 *
 * @module
 */
import { last } from "../fence.js";
import { claimOf, invalid, type Claim, type Claims } from "./claim.js";
import { check, FenceError, MalformedMarkError, UnknownWriteError } from "./rule.js";

/** A client of `pg` in a transaction. */
export interface Client {
  /** Executes a statement. */
  query(text: string, values?: unknown[]): Promise<{ rows: unknown[] }>;
}

/** A client of a pool. */
export interface PoolClient extends Client {
  /** Returns it to the pool, or closes it. */
  release(destroy?: boolean): void;
  /** Observes errors of the connection. */
  on(event: "error", listener: (error: Error) => void): unknown;
  /** Ends the observation. */
  off(event: "error", listener: (error: Error) => void): unknown;
}

/** A pool of `pg`. */
export interface Pool {
  /** Returns a client of its own. */
  connect(): Promise<PoolClient>;
}

/** What a pool of `pg` returns, which has a second form of `connect`. */
interface Connect<C> {
  (): Promise<C>;
  (callback: never): void;
}

/** The clients of a pool. */
export type ClientOf<P extends Pool> = P["connect"] extends Connect<infer C> ? C : Awaited<ReturnType<P["connect"]>>;

/** Options of a {@link Guard}. */
export interface GuardOptions {
  /** The name of the table of marks: letters, digits and _, with a schema before a dot if need be; `holdfast_marks`. */
  table?: string;
  /** Whether each token is accepted a single time, for a job that must not run twice under one grant. */
  once?: boolean;
}

/** What stands in statements without quotes; PostgreSQL takes at most 63 bytes. */
const name = /^([A-Za-z_][A-Za-z0-9_]{0,62}\.)?[A-Za-z_][A-Za-z0-9_]{0,62}$/;
const noTable = "42P01";
const utf8 = new TextEncoder();

/** Checks claims against marks in a table of their own. It holds no connection. */
export class Guard {
  readonly #table: string;
  readonly #once: boolean;

  /** @throws InvalidError if the table cannot have this name. */
  constructor({ table = "holdfast_marks", once = false }: GuardOptions = {}) {
    if (!name.test(table)) {
      throw invalid(undefined, `the table must have a name of at most 63 letters, digits and _, not ${JSON.stringify(table)}`);
    }
    this.#table = table;
    this.#once = once;
  }

  /**
   * Makes the table of marks unless there is one of that name, which stays as it is. Several processes may call it at
   * once.
   */
  async createTable(client: Client): Promise<void> {
    const create =
      `CREATE TABLE IF NOT EXISTS ${this.#table} (resource bytea PRIMARY KEY, token bigint ` +
      `NOT NULL CHECK (token BETWEEN 0 AND ${String(last)})); `;
    // IF NOT EXISTS alone fails if another transaction makes the same table at the same time. That one has committed by
    // then, so a second try finds the table, or fails because a type has the name.
    const exceptions = "unique_violation OR duplicate_table OR duplicate_object";
    await client.query(`DO $$ BEGIN ${create}EXCEPTION WHEN ${exceptions} THEN ${create}END $$`);
  }

  /**
   * Lets the claim pass, or not, as part of the transaction, and raises the mark to its token. The mark stays locked
   * until the transaction ends. Call it before the first read of the transaction: what was read before may be outdated
   * by a late write, whose change would be lost. Roll back after each error.
   *
   * @param client - a client on which BEGIN was executed; on another one nothing is guaranteed
   * @throws StaleClaimError if the claim was refused, InvalidError if it breaks a rule or the client is a pool, and
   * MalformedMarkError if the mark is not one. Other errors are those of the database.
   */
  async raise(client: Client, claim: Claims): Promise<void> {
    const shown = claimOf(claim);
    if ("totalCount" in client) throw invalid(shown.resource, "each statement of a pool is a transaction of its own; use do, or a client");
    try {
      await this.#raise(client, shown);
    } catch (error) {
      if (error instanceof Error && "code" in error && error.code === noTable) error.message += "; make it with createTable";
      throw error;
    }
  }

  async #raise(client: Client, claim: Claim): Promise<void> {
    const resource = utf8.encode(claim.resource);
    const passes = this.#once ? claim.token - 1n : claim.token; // the highest mark that lets the claim pass
    // A condition that does not hold locks the row too, so that the mark read afterwards is the one that refused.
    const passed = await client.query(
      `INSERT INTO ${this.#table} AS mark (resource, token) VALUES ($1, $2) ON CONFLICT (resource) ` +
        "DO UPDATE SET token = excluded.token WHERE mark.token BETWEEN 0 AND $3 RETURNING token", // mutant: TypeScriptEveryTokenPasses
      [resource, String(claim.token), String(passes)],
    );
    if (passed.rows.length > 0) return;
    const { rows } = await client.query(`SELECT token::text AS token FROM ${this.#table} WHERE resource = $1`, [resource]);
    const stored = (rows[0] as { token: unknown } | undefined)?.token;
    if (rows.length > 0 && (typeof stored !== "string" || !/^[0-9]+$/.test(stored) || BigInt(stored) > last)) {
      throw new MalformedMarkError(`the token of ${JSON.stringify(claim.resource)} in ${this.#table} is ${String(stored)}, not 0 to ${String(last)}`);
    }
    if (typeof stored === "string") check(claim, BigInt(stored), this.#once);
    throw new FenceError("the mark changed between two statements; use a transaction, and run it again");
  }

  /**
   * Runs a function in a transaction, after {@link Guard.raise}, and commits. What it depends on, it reads there. It is
   * not called if the claim is refused; if it fails, everything is rolled back, and the error is its own.
   *
   * @throws UnknownWriteError after an error of the commit: either everything took effect or nothing. After any other
   * error nothing did. Errors are those of {@link Guard.raise} besides.
   */
  async do<P extends Pool, T>(pool: P, claim: Claims, write: (client: ClientOf<P>) => Promise<T>): Promise<T> {
    const shown = claimOf(claim);
    const client = await pool.connect();
    let broken = false;
    const breaks = (): void => { broken = true; };
    client.on("error", breaks); // without a listener it would end the process
    try {
      await client.query("BEGIN");
      let result: T;
      try {
        await this.raise(client, shown);
        result = await write(client as ClientOf<P>);
      } catch (error) {
        await client.query("ROLLBACK").catch(breaks);
        throw error;
      }
      await commit(client, shown);
      return result;
    } catch (error) {
      if (error instanceof UnknownWriteError) broken = true;
      throw error;
    } finally {
      client.off("error", breaks);
      client.release(broken);
    }
  }
}

async function commit(client: Client, claim: Claim): Promise<void> {
  const done = await client.query("COMMIT").catch((cause: unknown) => {
    throw new UnknownWriteError(`${JSON.stringify(claim.resource)}: the commit failed: ${String(cause)}`, { cause });
  });
  // PostgreSQL answers so, without an error, if a statement failed and the caller went on.
  if ("command" in done && done.command === "ROLLBACK") {
    throw new FenceError("the transaction was rolled back, because one of its statements had failed");
  }
}
