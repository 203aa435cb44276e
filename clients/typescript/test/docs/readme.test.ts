// The examples of README.md, and that of the repository's, compile strictly, run on a real node, and print what the page
// shows.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { resolve } from "node:path";
import { after, before, describe, test } from "node:test";
import { promisify } from "node:util";
import * as client from "@holdfast-io/client";
import { Node } from "../support/node.js";

process.env.HOLDFAST_BINARY ??= resolve("../../bin/holdfast");

const run = promisify(execFile);
const folder = resolve("dist/readme"); // within the package, so that its name is found
const readme = await readFile("README.md", "utf8");
const main = await readFile("../../README.md", "utf8");

interface Example {
  name: string;
  code: string;
  /** What it prints. */
  output: string;
}

/** Returns the blocks of code with what they print, and the first one and the one marked as the end around each. */
function examples(): Example[] {
  const blocks = [...readme.matchAll(/^```ts( end)?\n(.*?)^```\n(?:\n```text\n(.*?)^```\n)?/gms)];
  const [begin, ...rest] = blocks.filter((block) => block[1] === undefined);
  const end = blocks.find((block) => block[1] !== undefined);
  assert.ok(begin !== undefined && end !== undefined);
  const own = rest.map((block) => ({
    name: (readme.slice(0, block.index).match(/^## .*/gm)?.at(-1) ?? "").slice(3),
    code: [begin[2], block[2], end[2]].join("\n"),
    output: block[3] ?? "",
  }));
  const program = /^```ts\n(.*?)^```$/ms.exec(main)?.[1];
  assert.ok(program !== undefined);
  return [...own, { name: "of the repository", code: program, output: "written under 000000000000001\n" }];
}

describe("README.md", () => {
  const all = examples();
  let node: Node;

  before(async () => {
    node = await Node.start();
    await rm(folder, { recursive: true, force: true });
    await mkdir(folder, { recursive: true });
    for (const [n, { code }] of all.entries()) {
      assert.ok(code.includes("nats://127.0.0.1:4222"));
      await writeFile(`${folder}/example${String(n)}.ts`, code.replace("nats://127.0.0.1:4222", node.url));
    }
    const config = { extends: "../../tsconfig.json", compilerOptions: { noEmit: false, rootDir: ".", types: ["node"] }, include: ["."] };
    await writeFile(`${folder}/tsconfig.json`, JSON.stringify(config));
    await run(process.execPath, [resolve("node_modules/typescript/bin/tsc"), "-p", folder]).catch((error: unknown) => {
      assert.fail((error as { stdout: string }).stdout);
    });
  });

  after(async () => {
    await node[Symbol.asyncDispose]();
  });

  for (const [n, { name, output }] of all.entries()) {
    test(name, async () => {
      const { stdout, stderr } = await run(process.execPath, [`${folder}/example${String(n)}.js`]);
      assert.equal(stderr, "");
      assert.equal(stdout, output);
    });
  }

  test("each error of the client is in the list, with its code", () => {
    const listed = [...readme.matchAll(/^- `(\w+Error)` \(`(\w+)`\): /gm)].map((row) => row[1]);
    const exported = Object.keys(client).filter((name) => name.endsWith("Error") && name !== "HoldfastError");
    assert.deepEqual(listed.sort(), exported.sort());
  });

  test("the reference is built without a warning", async () => {
    const { stderr } = await run(process.execPath, [resolve("node_modules/typedoc/bin/typedoc"), "--out", "dist/reference"]).catch((error: unknown) => {
      assert.fail((error as { stderr: string }).stderr);
    });
    assert.equal(stderr, "");
  });
});
