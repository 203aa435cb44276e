// The package as its users install it: the tarball in an empty project, used from ES modules, CommonJS and TypeScript.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { after, before, describe, test } from "node:test";
import { promisify } from "node:util";
import { Node } from "../support/node.js";

const run = promisify(execFile);
const modules = resolve("node_modules");

/** Uses each kind of export: functions, classes as values, and the other entry. */
const use = `
(async () => {
  const nc = await connectWith(connect, { servers: process.argv[2] });
  const locks = holdfast(nc, { owner: "package" });
  const lock = await locks.acquire(process.argv[3]);
  const refused = await locks.acquire(process.argv[3], { ifAvailable: true }).catch((error) => error instanceof LockHeldError);
  const used = await new Redlock([locks]).using(["used." + process.argv[3]], 1000, async (_, { value }) => value);
  console.log(lock.fence, refused, used, typeof createHoldfastBackend, typeof startServer);
  await locks.close();
  await nc.close();
})();
`;

const typed = `
import { holdfast, LockLostError, type Lock, type LockOptions } from "@holdfast-io/client";
import Redlock, { type Lock as Redlocked } from "@holdfast-io/client/redlock";
import { createHoldfastBackend, type HoldfastBackend } from "@holdfast-io/client/syncguard";
import type { StaleClaimError } from "@holdfast-io/client/fence";
import { Guard } from "@holdfast-io/client/fence/redis";
import type { Server } from "@holdfast-io/client/testing";

export const guard = (refused: StaleClaimError): Promise<void> => new Guard(() => Promise.resolve()).raise(refused.claim);
export const fault = (server: Server): Promise<void> => server.endLease("orders.42");

export async function write(nc: Parameters<typeof holdfast>[0], options: LockOptions): Promise<string> {
  const locks = holdfast(nc, { ttl: 10_000 });
  const backend: HoldfastBackend | undefined = createHoldfastBackend.length > 5 ? createHoldfastBackend(locks, {} as never) : undefined;
  const redlocked: Redlocked = await new Redlock([locks], { retryCount: 3 }).acquire(["orders.42"], 1000);
  await redlocked.release();
  const made: string = await locks.request("orders.42", (lock) => lock.fence + String(backend));
  const tried: string | undefined = await locks.request("orders.42", { ...options, ifAvailable: true }, (lock: Lock | null) => lock?.fence);
  const lock = await locks.acquire("orders.42");
  // @ts-expect-error: the token is a bigint, and no number
  const token: number = lock.token;
  return made + String(tried) + String(token) + (lock.signal.reason instanceof LockLostError ? lock.signal.reason.reason : "");
}
`;

describe("the package", () => {
  let node: Node, project: string, listed: string[];

  before(async () => {
    node = await Node.start();
    project = await mkdtemp(join(tmpdir(), "holdfast-project-"));
    for (const build of ["esm", "cjs"]) await rm(join("dist", build), { recursive: true }); // as in a clean checkout
    const { stdout } = await run("npm", ["pack", "--json", "--pack-destination", project]);
    const [packed] = JSON.parse(stdout) as [{ filename: string; files: { path: string }[] }];
    listed = packed.files.map((file) => file.path);
    await writeFile(join(project, "package.json"), "{}");
    // Without a network: the peers come from the modules of this folder.
    await run("npm", ["install", "--offline", "--legacy-peer-deps", "--no-audit", "--no-fund", `./${packed.filename}`], { cwd: project });
    await symlink(join(modules, "@nats-io"), join(project, "node_modules/@nats-io"));
    await mkdir(join(project, "node_modules/@types"));
    for (const types of ["@types/node", "undici-types"]) await symlink(join(modules, types), join(project, "node_modules", types));
  });

  after(async () => {
    await rm(project, { recursive: true });
    await node[Symbol.asyncDispose]();
  });

  test("has its builds, its readme and its licence, and nothing else", () => {
    for (const build of ["esm", "cjs"]) assert.ok(listed.includes(`dist/${build}/index.js`), build);
    const rest = listed.filter((path) => !/^dist\/(esm|cjs)\/[\w/-]+\.(js|d\.ts|json)$/.test(path));
    assert.deepEqual(rest.sort(), ["LICENSE", "README.md", "package.json"]);
  });

  // The programs below have no other package: neither entry of theirs loads a host.
  test("has no dependency but its peer", async () => {
    const installed = JSON.parse(await readFile(join(project, "node_modules/@holdfast-io/client/package.json"), "utf8")) as {
      dependencies?: object;
      peerDependencies: object;
      peerDependenciesMeta: Record<string, { optional: boolean }>;
    };
    assert.equal(installed.dependencies, undefined);
    const isNeeded = (peer: string): boolean => installed.peerDependenciesMeta[peer]?.optional !== true;
    assert.deepEqual(Object.keys(installed.peerDependencies).filter(isNeeded), ["@nats-io/nats-core"]);
  });

  test("the root loads no guard, and a guard no library but its own", async () => {
    const closure = async (file: string, seen = new Set<string>()): Promise<Set<string>> => {
      if (seen.has(file)) return seen;
      seen.add(file);
      if (!file.endsWith(".js")) return seen;
      const code = await readFile(join(project, "node_modules/@holdfast-io/client/dist/esm", file), "utf8");
      for (const [, from = ""] of code.matchAll(/^(?:import|export) .*?from "([^"]+)";$/gm)) {
        await closure(from.startsWith(".") ? join(file, "..", from) : from, seen);
      }
      return seen;
    };
    assert.deepEqual([...(await closure("index.js"))].filter((file) => file.startsWith("fence/")), []);
    const libraries = { "fence/index.js": [], "fence/pg.js": [], "fence/redis.js": [], "fence/s3.js": ["@aws-sdk/client-s3"] };
    for (const [file, own] of Object.entries(libraries)) {
      assert.deepEqual([...(await closure(file))].filter((name) => !name.endsWith(".js")), own, file);
    }
  });

  const programs = {
    "an ES module": [
      "main.mjs",
      `import { connect } from "@nats-io/transport-node";
       import { connectWith, holdfast, LockHeldError } from "@holdfast-io/client";
       import Redlock from "@holdfast-io/client/redlock";
       import { createHoldfastBackend } from "@holdfast-io/client/syncguard";
       import { startServer } from "@holdfast-io/client/testing";`,
    ],
    CommonJS: [
      "main.cjs",
      `const { connect } = require("@nats-io/transport-node");
       const { connectWith, holdfast, LockHeldError } = require("@holdfast-io/client");
       const { default: Redlock } = require("@holdfast-io/client/redlock");
       const { createHoldfastBackend } = require("@holdfast-io/client/syncguard");
       const { startServer } = require("@holdfast-io/client/testing");`,
    ],
  } as const;
  for (const [what, [file, imports]] of Object.entries(programs)) {
    test(`is used from ${what}`, async () => {
      await writeFile(join(project, file), imports + use);
      const { stdout, stderr } = await run(process.execPath, [file, node.url, file], { cwd: project });
      assert.equal(stdout, "000000000000001 true 000000000000001 function function\n");
      assert.equal(stderr, "");
    });
  }

  const resolutions = {
    "node16, ES module": ["main.mts", { module: "node16", moduleResolution: "node16" }],
    "node16, CommonJS": ["main.cts", { module: "node16", moduleResolution: "node16" }],
    bundler: ["main.ts", { module: "esnext", moduleResolution: "bundler" }],
  } as const;
  for (const [what, [file, compilerOptions]] of Object.entries(resolutions)) {
    test(`has types for the resolution ${what}`, async () => {
      await writeFile(join(project, file), typed);
      const strict = { strict: true, noUncheckedIndexedAccess: true, noEmit: true };
      const config = { compilerOptions: { target: "es2022", lib: ["es2022", "dom", "esnext.disposable"], ...strict, ...compilerOptions }, files: [file] };
      await writeFile(join(project, "tsconfig.json"), JSON.stringify(config));
      await run(process.execPath, [join(modules, "typescript/bin/tsc")], { cwd: project }).catch((error: unknown) => {
        assert.fail((error as { stdout: string }).stdout);
      });
    });
  }
});
