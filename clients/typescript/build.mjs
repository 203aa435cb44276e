// Builds the package for import and for require, each with types of its own.
import { execFileSync } from "node:child_process";
import { createRequire } from "node:module";
import { rmSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

const here = fileURLToPath(new URL(".", import.meta.url));
const tsc = createRequire(import.meta.url).resolve("typescript/bin/tsc");
const types = { esm: "module", cjs: "commonjs" };

for (const [format, type] of Object.entries(types)) {
  rmSync(`${here}dist/${format}`, { recursive: true, force: true });
  // The helper for tests and the guard for files are compiled apart: the rest has no type of Node.js.
  for (const config of [`tsconfig.${format}.json`, `src/testing/tsconfig.${format}.json`]) {
    execFileSync(process.execPath, [tsc, "-p", config], { cwd: here, stdio: "inherit" });
  }
  writeFileSync(`${here}dist/${format}/package.json`, `${JSON.stringify({ type, sideEffects: false })}\n`);
}
