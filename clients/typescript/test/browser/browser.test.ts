// The client in Chromium, over a WebSocket to the server of NATS in a node.
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import type { Server } from "node:http";
import type { AddressInfo } from "node:net";
import { resolve } from "node:path";
import { after, afterEach, before, describe, test } from "node:test";
import type { Holdfast, Lock } from "@holdfast-io/client";
import { holdfast } from "@holdfast-io/client";
import { connect } from "@nats-io/transport-node";
import { build } from "esbuild";
import { chromium } from "playwright-core";
import type { Browser, BrowserContext, Page } from "playwright-core";
import { Node } from "../support/node.js";
import type { Names } from "./page.js";

/** A name that is not the machine's own, so that the page is no secure context: crypto.subtle is missing there. */
const host = "locks.test";

declare const globalThis: Names & { locks: Holdfast; lock: Lock; waiting: Promise<string> };

describe("in a browser", () => {
  let node: Node, server: Server, browser: Browser, context: BrowserContext | undefined;

  before(async () => {
    node = await Node.start();
    const bundle = await build({
      entryPoints: ["test/browser/page.ts"],
      alias: { "@holdfast-io/client": resolve("dist/esm/index.js") },
      bundle: true,
      write: false,
      format: "iife",
    });
    const script = bundle.outputFiles[0]?.text ?? "";
    server = createServer((_, response) => {
      response.setHeader("Content-Type", "text/html");
      response.end(`<!doctype html><meta charset="utf-8"><link rel="icon" href="data:,"><title>locks</title><script>${script}</script>`);
    }).listen(0, "127.0.0.1");
    await once(server, "listening");
    browser = await chromium.launch({
      executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
      args: [`--host-resolver-rules=MAP ${host} 127.0.0.1`],
    });
  });

  after(async () => {
    await browser.close();
    server.close();
    await node[Symbol.asyncDispose]();
  });

  afterEach(async () => {
    await context?.close();
    context = undefined;
  });

  /** Opens a page with a client. What its console shows as an error is a failure of the test. */
  async function open(problems: string[], owner: string): Promise<Page> {
    context ??= await browser.newContext();
    const page = await context.newPage();
    page.on("console", (message) => message.type() === "error" && problems.push(message.text()));
    page.on("pageerror", (error) => problems.push(String(error)));
    await page.goto(`http://${host}:${String((server.address() as AddressInfo).port)}/`);
    const servers = node.websocket.replace("127.0.0.1", host);
    await page.evaluate(
      async ([servers, owner]) => {
        globalThis.locks = globalThis.holdfast(await globalThis.wsconnect({ servers }), { owner, ttl: 3_000 });
      },
      [servers, owner] as const,
    );
    return page;
  }

  test("takes and releases a lock, without a secure context", async () => {
    const problems: string[] = [];
    const page = await open(problems, "window-1");
    assert.equal(await page.evaluate(() => isSecureContext), false);
    const held = await page.evaluate(async () => {
      globalThis.lock = await globalThis.locks.acquire("browser.lock");
      const { fence, valid, owner } = globalThis.lock;
      return { fence, valid, owner };
    });
    assert.deepEqual(held, { fence: "000000000000001", valid: true, owner: "window-1" });
    assert.match(await node.run("get", "browser.lock"), /window-1/);
    await page.evaluate(() => globalThis.lock.release());
    assert.equal(await page.evaluate(async () => (await globalThis.locks.get("browser.lock")).held), false);
    assert.deepEqual(problems, []);
  });

  test("two windows exclude one another, first come, first served", async () => {
    const problems: string[] = [];
    const first = await open(problems, "window-1");
    const second = await open(problems, "window-2");
    await first.evaluate(async () => {
      globalThis.lock = await globalThis.locks.acquire("browser.two");
    });
    assert.equal(await second.evaluate(() => globalThis.locks.request("browser.two", { ifAvailable: true }, (lock) => lock === null)), true);
    await second.evaluate(() => {
      globalThis.waiting = globalThis.locks.request("browser.two", (lock) => lock.fence);
    });
    await first.evaluate(async () => {
      while ((await globalThis.locks.query("browser.two")).pending.length === 0);
      await globalThis.lock.release();
    });
    assert.equal(await second.evaluate(() => globalThis.waiting), "000000000000002");
    assert.deepEqual(problems, []);
  });

  test("the signal reports the loss of a lock", async () => {
    const problems: string[] = [];
    const page = await open(problems, "window-1");
    const waiting = page.evaluate(() =>
      globalThis.locks.request("browser.lost", async (lock) => {
        globalThis.lock = lock;
        await new Promise((resolve) => {
          lock.signal.addEventListener("abort", resolve);
        });
      }).then(
        () => "held to the end",
        (error: unknown) => (error instanceof globalThis.LockLostError ? `${error.reason}, valid: ${String(globalThis.lock.valid)}` : String(error)),
      ),
    );
    await page.waitForFunction(() => (globalThis as Partial<typeof globalThis>).lock?.valid);
    await node.run("break", "browser.lost", "--token", "1", "--reason", "test");
    assert.equal(await waiting, "not_held, valid: false");
    assert.deepEqual(problems, []);
  });

  test("the lock of a closed window becomes free", async () => {
    const problems: string[] = [];
    const page = await open(problems, "window-1");
    await page.evaluate(async () => {
      globalThis.lock = await globalThis.locks.acquire("browser.closed");
    });
    await page.close();
    const nc = await connect({ servers: node.url });
    const locks = holdfast(nc);
    try {
      assert.equal((await locks.get("browser.closed")).held, true);
      const lock = await locks.acquire("browser.closed");
      assert.equal(lock.fence, "000000000000002");
    } finally {
      await locks.close();
      await nc.close();
    }
    assert.deepEqual(problems, []);
  });
});
