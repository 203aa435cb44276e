// The driver of the guards for the suite of clients/fence/fencetest, which has its protocol in foreign.go.
import { createInterface } from "node:readline";
import { S3Client } from "@aws-sdk/client-s3";
import { InvalidError } from "@holdfast-io/client";
import { Claim, MalformedMarkError, SpentClaimError, StaleClaimError, UnknownWriteError } from "@holdfast-io/client/fence";
import { Directory } from "@holdfast-io/client/fence/file";
import { Guard as PostgresGuard } from "@holdfast-io/client/fence/pg";
import { Guard as RedisGuard, Script, type Client } from "@holdfast-io/client/fence/redis";
import { Bucket } from "@holdfast-io/client/fence/s3";
import { Redis } from "ioredis";
import { Pool, type PoolClient } from "pg";
import { createClient } from "redis";

/** A line of the input. A member that is left out is undefined. */
interface Command {
  id: number;
  op: "open" | "write" | "modify" | "raise" | "hset" | "delete" | "verify" | "changed";
  store: string;
  address: string;
  once: boolean;
  on: number;
  resource: string;
  token: string;
  keys: string[];
  value?: string;
  script?: string;
  ttl?: number;
  fields?: Record<string, string>;
  failed?: boolean;
}

type Change = (old: Uint8Array | null) => Promise<string>;

/** A guard as the suite uses it. */
interface Register {
  write(claim: Claim, c: Command): Promise<void>;
  modify(claim: Claim, c: Command, change: Change): Promise<void>;
  raise(claim: Claim): Promise<void>;
  hset?(claim: Claim, c: Command): Promise<void>;
  delete?(claim: Claim, c: Command): Promise<void>;
  verify?(): Promise<void>;
}

const first = (c: Command): string => c.keys[0] ?? "";

async function file({ address, once }: Command): Promise<Register> {
  const guard = await Directory.open(address, { once });
  return {
    write: (claim, c) => guard.write(claim, first(c), c.value ?? ""),
    modify: (claim, c, change) => guard.modify(claim, first(c), change),
    raise: (claim) => guard.raise(claim),
  };
}

function redis(client: Client, { once }: Command): Register {
  const guard = new RedisGuard(client, { once });
  return {
    write: async (claim, c) => {
      if (c.script !== undefined) await guard.run(claim, new Script(c.script), c.keys, [c.value ?? ""]);
      else await guard.set(claim, first(c), c.value ?? "", c.ttl === undefined ? undefined : c.ttl * 1000);
    },
    modify: (claim, c, change) => guard.modify(claim, first(c), (old) => change(old === null ? null : Buffer.from(old))),
    raise: (claim) => guard.raise(claim),
    hset: (claim, c) => guard.hset(claim, first(c), c.fields ?? {}),
    delete: (claim, c) => guard.del(claim, ...c.keys),
  };
}

function s3({ address, once }: Command): Register {
  const [host, bucket] = address.split("/") as [string, string];
  const credentials = { accessKeyId: "key", secretAccessKey: "secret" };
  const client = new S3Client({ endpoint: `http://${host}`, region: "us-east-1", credentials, forcePathStyle: true });
  const guard = new Bucket(client, bucket, { once });
  return {
    write: (claim, c) => guard.put(claim, first(c), c.value ?? ""),
    modify: (claim, c, change) => guard.modify(claim, first(c), change),
    raise: (claim) => guard.raise(claim),
    delete: (claim, c) => guard.delete(claim, first(c)),
    verify: () => guard.verify(),
  };
}

function postgresql({ address, once }: Command): Register {
  const pool = new Pool({ connectionString: `postgres://postgres@${address}/postgres`, max: 16 });
  pool.on("error", () => undefined); // of a connection that is idle
  const guard = new PostgresGuard({ once });
  const store = async (client: PoolClient, claim: Claim, value: string): Promise<void> => {
    const upsert = "INSERT INTO orders (resource, value) VALUES ($1, $2) ON CONFLICT (resource) DO UPDATE SET value = excluded.value";
    await client.query(upsert, [Buffer.from(claim.resource), Buffer.from(value)]);
  };
  return {
    write: (claim, c) =>
      guard.do(pool, claim, async (client) => {
        const value = c.value ?? "";
        await store(client, claim, value);
        await client.query("INSERT INTO history (resource, value) VALUES ($1, $2)", [Buffer.from(claim.resource), Buffer.from(value)]);
      }),
    modify: (claim, _, change) =>
      guard.do(pool, claim, async (client) => {
        const { rows } = await client.query<{ value: Buffer }>("SELECT value FROM orders WHERE resource = $1", [Buffer.from(claim.resource)]);
        await store(client, claim, await change(rows[0]?.value ?? null));
      }),
    raise: (claim) => guard.do(pool, claim, () => Promise.resolve()),
  };
}

const stores: Record<string, (c: Command) => Register | Promise<Register>> = {
  file,
  s3,
  postgresql,
  ioredis: (c) => redis(new Redis(`redis://${c.address}`).on("error", () => undefined), c),
  redis: async (c) => {
    const client = createClient({ url: `redis://${c.address}` }).on("error", () => undefined);
    await client.connect();
    return redis(client, c);
  },
};

class FailedChange extends Error {}

const guards = new Map<number, Register>();
const changes = new Map<number, (line: Command) => void>();

function tell(line: object): void {
  process.stdout.write(`${JSON.stringify(line)}\n`);
}

/** Has the suite change a value. */
async function ask(id: number, old: Uint8Array | null): Promise<string> {
  const line = await new Promise<Command>((resolve) => {
    changes.set(id, resolve);
    tell({ id, asks: true, old: old === null ? "" : Buffer.from(old).toString() });
  });
  if (line.failed === true) throw new FailedChange();
  return line.value ?? "";
}

async function carryOut(c: Command): Promise<void> {
  if (c.op === "open") {
    const open = stores[c.store];
    if (open === undefined) throw new Error(`there is no guard for ${c.store}`);
    guards.set(c.id, await open(c));
    return;
  }
  const guard = guards.get(c.on);
  if (guard === undefined || c.op === "changed") throw new Error("there is no such guard");
  const claim = new Claim(c.resource, BigInt(c.token));
  if (c.op === "modify") return guard.modify(claim, c, (old) => ask(c.id, old));
  if (guard[c.op] === undefined) throw new Error(`the guard has no ${c.op}`);
  return guard[c.op]?.(claim, c);
}

const kinds = { invalid: InvalidError, malformed: MalformedMarkError, unknown: UnknownWriteError, failed: FailedChange };

async function answer(c: Command): Promise<void> {
  try {
    await carryOut(c);
    tell({ id: c.id });
  } catch (error) {
    if (error instanceof StaleClaimError) {
      tell({ id: c.id, error: error instanceof SpentClaimError ? "spent" : "stale", highest: String(error.highest) });
      return;
    }
    const [kind] = Object.entries(kinds).find(([, type]) => error instanceof type) ?? ["other"];
    tell({ id: c.id, error: kind, detail: String(error) });
  }
}

createInterface({ input: process.stdin })
  .on("line", (line) => {
    const c = JSON.parse(line) as Command;
    if (c.op === "changed") changes.get(c.id)?.(c);
    else void answer(c);
  })
  .on("close", () => process.exit());
