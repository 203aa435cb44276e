// Builds the package for import and for require, each with types of its own.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";

const here = fileURLToPath(new URL(".", import.meta.url));
const tsc = createRequire(import.meta.url).resolve("typescript/bin/tsc");
const types = { esm: "module", cjs: "commonjs" };

async function build(format, type) {
  rmSync(`${here}dist/${format}`, { recursive: true, force: true });
  // The helper for tests and the guard for files are compiled apart: the rest has no type of Node.js.
  for (const config of [`tsconfig.${format}.json`, `src/testing/tsconfig.${format}.json`]) {
    const check = format === "esm" ? [] : ["--noCheck"]; // the sources are the same
    const [code] = await once(spawn(process.execPath, [tsc, "-p", config, ...check], { cwd: here, stdio: "inherit" }), "exit");
    if (code !== 0) process.exit(1);
  }
  writeFileSync(`${here}dist/${format}/package.json`, `${JSON.stringify({ type, sideEffects: false })}\n`);
}

await Promise.all(Object.entries(types).map(([format, type]) => build(format, type)));
