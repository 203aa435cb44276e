// The site of the documentation in Chromium, as make site has written it.
import assert from "node:assert/strict";
import { once } from "node:events";
import { access, readdir, readFile } from "node:fs/promises";
import { createServer } from "node:http";
import { after, afterEach, before, test } from "node:test";
import { dirname, extname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { AxeBuilder } from "@axe-core/playwright";
import { chromium } from "playwright-core";

const site = fileURLToPath(new URL("../../../dist/site", import.meta.url));
const types = { ".html": "text/html", ".js": "text/javascript", ".css": "text/css", ".wasm": "application/wasm", ".md": "text/markdown", ".txt": "text/plain" };
const screenshots = process.env.HOLDFAST_SCREENSHOTS; // the directory to write them to; empty: none are made
const wide = { width: 1280, height: 900 }, narrow = { width: 360, height: 760 };

let server, url, browser, page, problems;

before(async () => {
  server = createServer(async (request, response) => {
    const path = decodeURI(new URL(request.url, "http://site").pathname);
    try {
      const content = await readFile(join(site, path.endsWith("/") ? path + "index.html" : path));
      response.writeHead(200, { "content-type": types[extname(path)] ?? "text/html" }).end(content);
    } catch {
      response.writeHead(404).end();
    }
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  url = `http://127.0.0.1:${server.address().port}/`;
  browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium" });
});

after(async () => {
  await browser?.close();
  server?.close();
});

afterEach(async () => {
  await page?.context().close();
  page = undefined;
});

// open opens a page of the site in a window of its own. An error in the console and a request to another host are
// problems.
async function open(path, options = {}) {
  const context = await browser.newContext({ viewport: wide, reducedMotion: "reduce", ...options });
  problems = [];
  page = await context.newPage();
  page.on("console", (m) => m.type() === "error" && problems.push(m.text()));
  page.on("pageerror", (e) => problems.push(String(e)));
  page.on("request", (r) => r.url().startsWith(url) || r.url().startsWith("data:") || problems.push(r.url()));
  await page.goto(url + path);
  await page.waitForFunction(() => document.querySelector("#app").__vue_app__); // from then on buttons do something
}

async function checkAccessible(what) {
  const { violations } = await new AxeBuilder({ page }).analyze();
  assert.deepEqual(violations.map((v) => `${v.id}: ${v.nodes.map((n) => n.html).join(" ")}`), [], what);
}

async function screenshot(name, what = page) {
  if (screenshots) await what.screenshot({ path: join(screenshots, name + ".png") });
}

const button = (name) => page.getByRole("button", { name, exact: true });

// load shows the demonstration before anything has happened.
async function load() {
  await page.getByRole("button", { name: /^Load the demonstration/ }).click();
  await button("Play").waitFor();
}

for (const [path, name] of [["", "start"], ["docs/concepts.html", "concepts"], ["docs/fencing.html", "fencing"]]) {
  for (const colorScheme of ["light", "dark"]) {
    test(`/${path} is accessible, ${colorScheme}, and fits a phone`, async () => {
      await open(path, { colorScheme });
      if (name === "fencing") await load();
      await screenshot(`${name}-${colorScheme}`);
      await checkAccessible("wide");
      await page.setViewportSize(narrow);
      const over = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
      assert.ok(over <= 0, `${over} pixels too wide`);
      await screenshot(`${name}-${colorScheme}-phone`);
      await checkAccessible("narrow");
      assert.deepEqual(problems, []);
    });
  }
}

test("the search finds a page", async () => {
  await open("");
  await page.getByRole("button", { name: "Search" }).click();
  await page.getByRole("searchbox").fill("high-water mark");
  await page.locator("#localsearch-list a[href*='docs/fencing']").first().click();
  await page.getByRole("heading", { level: 1, name: "Fencing" }).waitFor();
  assert.deepEqual(problems, []);
});

for (const [guard, balance, says] of [
  ["without a guard", "70", "The storage accepts the late write of anna: 70. A withdrawal that was acknowledged is lost."],
  ["with a guard", "65", "The storage refuses the write of anna: token 33 is lower than the mark, 34."],
]) {
  test(`a late write ${guard}, by the keyboard`, async () => {
    await open("docs/fencing.html");
    await load();
    await page.getByRole("radio", { name: guard }).focus();
    await page.keyboard.press("Space");
    await button("Step").focus();
    while ((await button("Step").getAttribute("aria-disabled")) === "false") await page.keyboard.press("Enter");
    const demonstration = page.getByRole("region", { name: "Demonstration of fencing" });
    const storage = page.getByRole("article", { name: "Storage" });
    assert.match(await storage.textContent(), new RegExp(`balance ${balance}`));
    assert.match(await page.getByRole("log").textContent(), new RegExp(says.replaceAll(".", "\\.")));
    await screenshot("demo-" + balance, demonstration);
    await page.emulateMedia({ colorScheme: "dark" });
    await screenshot(`demo-${balance}-dark`, demonstration);
    await page.setViewportSize(narrow);
    await screenshot(`demo-${balance}-phone`, demonstration);
    await checkAccessible("at the end");
    assert.deepEqual(problems, []);
  });
}

test("a reader pauses a worker, and time passes and stops", async () => {
  await open("docs/fencing.html");
  await load();
  await button("Step").click();
  await button("Pause anna").click();
  await button("Play").click();
  await page.getByText("bert gets the lock, with token 34.").waitFor();
  await button("Stop").click();
  await button("Resume anna").click();
  await page.getByText("anna resumes where it was.").waitFor();
  await button("Reset").click();
  assert.equal(await page.getByRole("log").getByRole("listitem").count(), 0);
  assert.deepEqual(problems, []);
});

// VitePress checks that pages exist. This is about the places in them, and the Markdown beside each page with its images.
test("each link inside the site leads to a place, and each page has its Markdown", async () => {
  const files = (await readdir(site, { recursive: true })).filter((f) => f.endsWith(".html") && f !== "404.html");
  assert.ok(files.length > 40, `${files.length} pages`);
  const texts = new Map(await Promise.all(files.map(async (f) => ["/" + f, await readFile(join(site, f), "utf8")])));
  const dead = [];
  for (const [path, text] of texts) {
    for (const [, href] of text.matchAll(/<a [^>]*href="([^"]*)"/g)) {
      const to = new URL(href.replaceAll("&amp;", "&"), "http://site" + path);
      if (to.host !== "site") continue;
      const target = texts.get(to.pathname.replace(/\/$/, "/index.html"));
      const id = decodeURIComponent(to.hash.slice(1));
      if (!target || (id && !target.includes(`id="${id}"`))) dead.push(`${path}: ${href}`);
    }
    const markdown = text.match(/<link rel="alternate" type="text\/markdown" href="([^"]+)"/)?.[1];
    const source = await readFile(join(site, markdown ?? "none"), "utf8");
    assert.match(source, /^# /m, path);
    for (const [, image] of source.matchAll(/!\[[^\]]*\]\(([^):]+)\)/g)) await access(join(site, dirname(markdown), image));
  }
  assert.deepEqual(dead, []);
});
