// The web page in Chromium, against a node of the real binary.
import assert from "node:assert/strict";
import { after, afterEach, before, test } from "node:test";
import { join } from "node:path";
import { AxeBuilder } from "@axe-core/playwright";
import { chromium } from "playwright-core";
import { Service } from "./service.mjs";

const screenshots = process.env.HOLDFAST_SCREENSHOTS; // the directory to write them to; empty: none are made
const views = ["", "locks", "locks?state=waited", "locks?state=heldback", "locks?state=unconfirmed", "locks?sort=-age", "lock?name=orders.42", "lock?name=disk.7", "lock?name=unused", "sessions", "cluster", "cluster?shards=-leases", "events", "deadlocks"];
const wide = { width: 1280, height: 800 }, narrow = { width: 320, height: 640 }, phone = { width: 390, height: 844 };
// zoomed is wide at a zoom of 200 %: half as many CSS pixels, each drawn as two. Playwright cannot operate the zoom itself.
const zoomed = { viewport: { width: 640, height: 400 }, deviceScaleFactor: 2 };

let service, browser, context, problems, waiting;

before(async () => {
  service = await Service.start("--http-page", "actions");
  browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium" });
  await service.run("acquire", "orders.42", "--owner", "worker-1", "--ttl", "1h", "--metadata", "host=blade-3");
  await service.run("acquire", "orders.43", "--owner", "<script>alert(1)</script>", "--ttl", "1h");
  await service.run("acquire", "pool", "--limit", "3", "--owner", "worker-2", "--ttl", "1h");
  await service.run("acquire", "pool", "--limit", "3", "--owner", "worker-3", "--ttl", "1h");
  await service.run("acquire", "disk.7", "--confirm", "--owner", "worker-4", "--ttl", "1h");
  await service.run("break", "disk.7", "--token", "1", "--reason", "it hangs");
  for (const n of [1, 2, 3, 4, 5]) {
    await service.publish(`holdfast.acquire.batch.${n}`, { owner: "worker-5", ttl_ms: 3600000, session: "a-session-of-the-tests" });
  }
  waiting = service.begin("acquire", "orders.42", "--owner", "worker-6", "--wait", "1h");
});

after(async () => {
  waiting?.kill();
  await browser?.close();
  await service?.stop();
});

// close closes all windows; the next one may have other options.
async function close() {
  await context?.close();
  context = undefined;
}

afterEach(close);

// open opens a window on a view. What the console shows as an error is a problem.
async function open(path, options = {}) {
  context ??= await browser.newContext({ viewport: wide, reducedMotion: "reduce", ...options });
  problems = [];
  const page = await context.newPage();
  page.on("console", (m) => m.type() === "error" && problems.push(m.text()));
  page.on("pageerror", (e) => problems.push(String(e)));
  await page.goto(new URL(path, service.url).href);
  return page;
}

// checkFits finds whether a view is wider than the window, and text of pictures that is too small to be read.
async function checkFits(page) {
  const { over, small } = await page.evaluate(() => ({
    over: document.documentElement.scrollWidth - document.documentElement.clientWidth,
    small: [...document.querySelectorAll("svg text")].filter((e) => parseFloat(getComputedStyle(e).fontSize) * e.getScreenCTM().d < 10).map((e) => e.textContent),
  }));
  assert.ok(over <= 0, `${over} pixels too wide at ${page.viewportSize().width}`);
  assert.deepEqual(small, [], "too small");
}

const row = (page, name) => page.locator("#live tbody tr", { has: page.getByRole("link", { name, exact: true }) });
const state = (page) => page.locator("#state");
const live = (page) => page.getByText("Live.", { exact: true }).waitFor();

// checkAccessible finds what breaks a rule of WCAG or of good practice; with a rule, only that one.
async function checkAccessible(page, what, rule) {
  const axe = new AxeBuilder({ page });
  if (rule) axe.withRules(rule);
  else axe.options({ rules: { "target-size": { enabled: true } } });
  const { violations } = await axe.analyze();
  assert.deepEqual(violations.map((v) => `${v.id}: ${v.nodes.map((n) => n.html).join(" ")}`), [], what);
}

for (const path of views) {
  test(`/${path} is accessible, light and dark, and fits a narrow screen and twice the zoom`, async () => {
    const page = await open(path, zoomed);
    await live(page);
    for (const size of [zoomed.viewport, phone, narrow]) {
      await page.setViewportSize(size);
      await checkFits(page);
    }
    await checkAccessible(page, "narrow and light");
    await page.emulateMedia({ colorScheme: "dark" });
    await checkAccessible(page, "dark", "color-contrast");
    assert.deepEqual(problems, []);
  });
}

test("locks come, change and go without a reload, and the focus stays", async () => {
  const page = await open("locks");
  await live(page);
  await row(page, "orders.42").getByRole("cell", { name: "1", exact: true }).first().waitFor();
  assert.match(await row(page, "orders.43").textContent(), /<script>alert\(1\)<\/script>/);
  const link = page.getByRole("link", { name: "orders.42", exact: true });
  await link.focus();
  await service.run("acquire", "fresh.1", "--owner", "worker-9", "--ttl", "1h");
  await row(page, "fresh.1").waitFor();
  await service.run("release", "fresh.1", "--owner", "worker-9");
  await row(page, "fresh.1").waitFor({ state: "detached" });
  assert.ok(await link.evaluate((e) => e === document.activeElement), "the focus has moved");
  assert.deepEqual(problems, []);
});

test("the focus stays when rows above and below go, come and change their places", async () => {
  const names = [1, 2, 3, 4, 5].map((n) => `focus.${n}`);
  const acquire = (name) => service.run("acquire", name, "--owner", "worker-9", "--ttl", "1h");
  await Promise.all(names.map(acquire));
  const page = await open("locks?pattern=focus.*");
  await live(page);
  const shown = await page.locator("#live tbody th a").allTextContents();
  assert.equal(shown.length, names.length);
  const link = page.getByRole("link", { name: shown[2], exact: true });
  await link.evaluate((e) => {
    e.addEventListener("blur", () => (e.dataset.blurred = "yes"));
    e.focus();
  });
  for (const gone of [shown[0], shown[4]]) {
    await service.run("release", gone, "--owner", "worker-9");
    await row(page, gone).waitFor({ state: "detached" });
    await acquire(gone);
    await row(page, gone).waitFor();
  }
  await page.evaluate(() => { // as a view does whose order is not that of the server any more
    const rows = document.querySelector("#live tbody");
    rows.append(rows.rows[0], rows.rows[1]);
  });
  await page.waitForFunction((want) => [...document.querySelectorAll("#live tbody th a")].map((e) => e.textContent).join() === want, shown.join());
  assert.ok(await link.evaluate((e) => e === document.activeElement && !e.dataset.blurred), "the focus has moved");
  assert.deepEqual(problems, []);
});

test("the filter selects, and explains a wrong pattern", async () => {
  const page = await open("locks");
  await page.getByLabel("Pattern").fill("batch.*");
  await page.getByRole("button", { name: "Show" }).click();
  await row(page, "batch.1").waitFor();
  assert.equal(await page.locator("#live tbody tr").count(), 5);
  await page.getByLabel("Pattern").fill("");
  await page.getByLabel("State").selectOption("waited for");
  await page.getByRole("button", { name: "Show" }).click();
  await row(page, "orders.42").waitFor();
  assert.equal(await page.locator("#live tbody tr").count(), 1);
  await page.getByLabel("State").selectOption("held back after a loss");
  await page.getByRole("button", { name: "Show" }).click();
  await row(page, "disk.7").getByText("until the loss is confirmed").waitFor();
  await page.getByLabel("Pattern").fill("a.>.b");
  problems = [];
  await page.getByRole("button", { name: "Show" }).click();
  await page.getByRole("alert").getByText("* is one whole level").waitFor();
});

test("a lock shows its holders, its queue, its metadata and its history", async () => {
  const page = await open("lock?name=orders.42");
  await page.getByRole("table", { name: "Holders" }).getByText("host = blade-3").waitFor();
  await page.getByRole("table", { name: "Queue" }).getByText("worker-6").waitFor();
  await page.getByRole("table", { name: "Changes" }).getByText("acquired").waitFor();
  await page.goto(service.url + "lock?name=disk.7");
  await page.getByText("The lease of worker-4 with token 1 was lost.").waitFor();
  await page.getByRole("table", { name: "Changes" }).getByText("reason: it hangs").waitFor();
});

test("sessions and shards are shown", async () => {
  const page = await open("sessions");
  assert.match(await page.locator("#live tbody tr").textContent(), /worker-5.*5.*batch\.\d.* and 2 more/);
  await page.goto(service.url + "cluster");
  assert.equal(await page.getByRole("table", { name: "Shards" }).getByRole("cell", { name: "open", exact: true }).count(), 4);
});

for (const javaScriptEnabled of [true, false]) {
  test(`a lease is broken with its token and a reason, ${javaScriptEnabled ? "with" : "without"} JavaScript`, async () => {
    const name = `break.${javaScriptEnabled}`;
    await service.run("acquire", name, "--owner", "worker-7", "--ttl", "1h");
    const page = await open(`lock?name=${name}`, { javaScriptEnabled });
    const attempt = async () => {
      await page.getByLabel("Your name").fill("anna");
      await page.getByLabel("Reason").fill("the worker hangs");
      await page.getByLabel("worker-7, token 1").check();
      await page.getByRole("button", { name: "Break the lease" }).click();
    };
    await page.getByLabel("worker-7, token 1").evaluate((e) => (e.value = "7")); // another one than that of the holder
    await attempt();
    await page.getByRole("alert").getByText("the lease is not broken").waitFor();
    for (const [label, typed] of [["Your name", "anna"], ["Reason", "the worker hangs"]]) {
      assert.equal(await page.getByLabel(label).inputValue(), typed);
    }
    await attempt();
    await page.getByText("The lease with token 1 is broken.").waitFor();
    await page.getByText("The lock is free.").waitFor();
    await page.getByRole("cell", { name: /reason: anna \(page of n1 from 127\.0\.0\.1\): the worker hangs/ }).waitFor();
    assert.match(await service.run("get", name), /free/);
    assert.equal(await page.getByRole("button", { name: "Break the lease" }).count(), 0, "there is nothing to break");
  });
}

test("a loss is confirmed where a lease cannot be broken", async () => {
  await service.run("acquire", "disk.8", "--confirm", "--owner", "worker-4", "--ttl", "1h");
  await service.run("break", "disk.8", "--token", "1", "--reason", "it hangs");
  const page = await open("lock?name=disk.8");
  await live(page);
  assert.equal(await page.getByRole("button", { name: "Break the lease" }).count(), 0);
  await page.getByLabel("Your name").fill("anna");
  await page.getByLabel("How the holder was stopped").fill("it is switched off");
  await page.getByLabel("worker-4, token 1").check();
  await page.getByRole("button", { name: "Confirm the loss" }).click();
  await page.getByText("The lease with token 1 is confirmed.").waitFor();
  await page.getByRole("cell", { name: /anna \(page of n1 from 127\.0\.0\.1\): it is switched off/ }).waitFor();
  await page.getByText("The lock is free.").waitFor();
});

test("what is typed stays while the lock is held, and goes with the lease", async () => {
  await service.run("acquire", "typed.1", "--owner", "worker-4", "--ttl", "1h");
  const page = await open("lock?name=typed.1");
  await live(page);
  const sure = page.getByLabel("worker-4, token 1"), waits = page.getByRole("table", { name: "Queue" });
  await page.getByLabel("Reason").fill("it hangs");
  await sure.check();
  const waiter = service.begin("acquire", "typed.1", "--owner", "worker-5", "--wait", "1h", "--ttl", "1h");
  await waits.getByText("worker-5").waitFor();
  assert.equal(await page.getByLabel("Reason").inputValue(), "it hangs");
  assert.ok(await sure.isChecked());
  await service.run("release", "typed.1", "--owner", "worker-4");
  await waits.waitFor({ state: "detached" });
  await page.getByLabel("worker-5, token 2").waitFor();
  assert.equal(await sure.count(), 0, "the lease is over");
  assert.ok(!(await page.getByLabel("worker-5, token 2").isChecked()), "it was another lease");
  waiter.kill();
});

test("tables are sorted by links, and say so", async () => {
  const page = await open("cluster", { javaScriptEnabled: false });
  const shards = page.getByRole("table", { name: "Shards" });
  assert.equal(await shards.getByRole("columnheader", { name: "Shard", exact: true }).getAttribute("aria-sort"), "ascending");
  await shards.getByRole("link", { name: "Leases" }).click();
  assert.equal(await shards.getByRole("columnheader", { name: "Leases" }).getAttribute("aria-sort"), "descending");
  const leases = await shards.locator("tbody tr").evaluateAll((rows) => rows.map((r) => Number(r.cells[5].textContent)));
  assert.deepEqual(leases, leases.toSorted((a, b) => b - a));
});

test("owners that wait for one another are shown", async () => {
  await service.run("acquire", "dead.a", "--owner", "A", "--ttl", "1h");
  await service.run("acquire", "dead.b", "--owner", "B", "--ttl", "1h");
  const waiters = [["dead.a", "B"], ["dead.b", "A"]].map(([name, owner]) => service.begin("acquire", name, "--owner", owner, "--wait", "1h"));
  const page = await open("deadlocks?pattern=dead.*");
  const table = page.getByRole("table", { name: "Deadlock 1" });
  await table.getByRole("row", { name: /^A dead\.b B/ }).waitFor();
  await table.getByRole("row", { name: /^B dead\.a A/ }).waitFor();
  for (const waiter of waiters) waiter.kill();
});

test("an action of another site is refused", async () => {
  const body = new URLSearchParams({ name: "orders.42", token: "1", reason: "another site" });
  for (const headers of [{ "Sec-Fetch-Site": "cross-site" }, { Origin: "https://example.com" }]) {
    const answer = await fetch(service.url + "break", { method: "POST", body, headers });
    assert.equal(answer.status, 403);
  }
  assert.match(await service.run("get", "orders.42"), /held: orders.42 by "worker-1"/);
});

test("events come live, each once, through the restart of the node", async () => {
  const page = await open("events?pattern=live.*");
  await live(page);
  await service.run("acquire", "live.1", "--owner", "worker-8", "--ttl", "1h");
  await row(page, "live.1").waitFor();
  await service.kill();
  await page.getByText("Not connected. Trying again.").waitFor();
  await service.restart();
  await service.run("acquire", "live.2", "--owner", "worker-8", "--ttl", "1h");
  await row(page, "live.2").waitFor();
  await live(page);
  await service.run("release", "live.2", "--owner", "worker-8");
  await row(page, "live.2").nth(1).waitFor();
  const changes = await page.locator("#live tbody tr").evaluateAll((rows) => rows.map((r) => r.cells[1].textContent + " " + r.cells[2].textContent));
  assert.deepEqual(changes, ["released live.2", "acquired live.2", "acquired live.1"]);
});

test("a view that was interrupted is fresh again", async () => {
  const page = await open("locks?pattern=again.*");
  await live(page);
  await service.kill();
  await page.getByText("Not connected. Trying again.").waitFor();
  await service.restart();
  await live(page);
  await service.run("acquire", "again.1", "--owner", "worker-8", "--ttl", "1h");
  await row(page, "again.1").waitFor();
});

test("a view that could not be read is read when the node answers", async () => {
  context = await browser.newContext();
  let body = "";
  await context.route(service.url + "events", async (route) => { // as the node writes it then
    const response = await route.fetch();
    body = (await response.text()).replace(/(<div id="live"[^>]*>)[^]*<\/main>/, "$1</div></main>");
    await route.fulfill({ response, body });
  }, { times: 1 });
  const page = await open("events");
  assert.ok(body !== "" && !body.includes('id="changes"')); // the page may have read it again by now
  await service.run("acquire", "read.1", "--owner", "worker-8", "--ttl", "1h");
  await row(page, "read.1").waitFor();
  assert.deepEqual(problems, []);
});

test("a window for whose stream there is no place tries again", async () => {
  const others = new AbortController();
  while ((await fetch(service.url + "stream/cluster", { signal: others.signal })).ok);
  const page = await open("locks");
  await page.getByText("Not connected. Trying again.").waitFor();
  others.abort();
  await live(page);
});

test("a window in the background has no stream until it is shown", async () => {
  context = await browser.newContext();
  await context.addInitScript(() => Object.defineProperty(Document.prototype, "hidden", { get: () => !window.shown, configurable: true }));
  const asked = [];
  context.on("request", (r) => asked.push(new URL(r.url()).pathname));
  const page = await open("");
  await page.getByRole("button", { name: "Pause" }).waitFor(); // the module has run
  assert.deepEqual(asked.filter((path) => path.startsWith("/stream/")), []);
  await page.evaluate(() => {
    window.shown = true;
    document.dispatchEvent(new Event("visibilitychange"));
  });
  await live(page);
});

test("a paused view stays as it is, and goes on when it is resumed", async () => {
  const page = await open("locks?pattern=paused.*");
  await live(page);
  await page.getByRole("button", { name: "Pause" }).click();
  assert.equal(await state(page).textContent(), "Paused.");
  await service.run("acquire", "paused.1", "--owner", "worker-8", "--ttl", "1h");
  const other = await open("locks?pattern=paused.*");
  await live(other);
  await service.run("acquire", "paused.2", "--owner", "worker-8", "--ttl", "1h");
  await row(other, "paused.2").waitFor(); // by the event stream, so the paused one would have it, too
  await other.close();
  assert.equal(await row(page, "paused.1").count(), 0);
  await page.getByRole("button", { name: "Resume" }).click();
  await row(page, "paused.1").waitFor();
  assert.deepEqual(problems, []);
});

test("without JavaScript every view has its content", async () => {
  const page = await open("", { javaScriptEnabled: false });
  for (const path of views) {
    await page.goto(service.url + path);
    await page.getByText("Reload the page to see what has changed.").waitFor();
    assert.ok(await page.getByRole("button", { name: "Pause" }).isHidden(), path);
    assert.match(await page.locator("#live").textContent(), /As of \d{4}-/, path);
  }
  await page.goto(service.url);
  await page.getByRole("table", { name: "Longest queues" }).getByRole("link", { name: "orders.42", exact: true }).click();
  await page.getByRole("heading", { name: "Lock" }).waitFor();
});

test("the keyboard reaches the content and the pause", async () => {
  const page = await open("locks");
  await live(page);
  await page.keyboard.press("Tab");
  await page.getByRole("link", { name: "Skip to the content" }).press("Enter");
  assert.equal(await page.evaluate(() => document.activeElement.id), "main");
  await page.keyboard.press("Tab");
  await page.keyboard.press("Enter");
  await page.getByText("Paused.", { exact: true }).waitFor();
  for (const label of ["Pattern", "State"]) {
    await page.keyboard.press("Tab");
    assert.ok(await page.getByLabel(label).evaluate((e) => e === document.activeElement), label);
  }
});

test("a screen reader is told the summary, but not with each refresh, and at once what happens to the connection", async () => {
  const page = await open("about:blank");
  await page.clock.install();
  await page.goto(service.url + "locks?pattern=spoken.*");
  await live(page);
  assert.equal(await state(page).getAttribute("role"), "status");
  const spoken = page.locator("#spoken"), summary = page.locator("#summary");
  await service.run("acquire", "spoken.1", "--owner", "worker-8", "--ttl", "1h");
  await summary.getByText("1 lease is shown.").waitFor();
  assert.equal(await spoken.textContent(), "", "it is told before the interval is over");
  await page.getByRole("button", { name: "Pause" }).click();
  await page.clock.fastForward(10_000);
  assert.equal(await spoken.textContent(), "1 lease is shown.", "the only change is not told");
  await page.getByRole("button", { name: "Resume" }).click();
  await service.run("acquire", "spoken.2", "--owner", "worker-8", "--ttl", "1h");
  await summary.getByText("2 leases are shown.").waitFor();
  assert.equal(await spoken.textContent(), "1 lease is shown.", "it is told with each refresh");
});

test("a screen reader is told that changes came, and the page when", async () => {
  const page = await open("about:blank");
  await page.clock.install();
  await page.goto(service.url + "events?pattern=told.*");
  await live(page);
  const before = await page.locator("#asof time").textContent();
  for (const [n, says] of [[1, /^1 change is shown. The newest is of /], [2, /^2 changes are shown. The newest is of /]]) {
    await service.run("acquire", `told.${n}`, "--owner", "worker-8", "--ttl", "1h");
    await row(page, `told.${n}`).waitFor();
    await page.clock.fastForward(10_000);
    assert.match(await page.locator("#spoken").textContent(), says);
  }
  assert.notEqual(await page.locator("#asof time").textContent(), before);
});

test("a view of very many changes shows the newest, and says so", async () => {
  const page = await open("events");
  await live(page);
  const load = service.begin("bench", "--duration", "1h");
  try {
    await page.getByText(/The newest 100 changes are shown|Too many changes/).first().waitFor();
    const full = (newest) => {
      const { rows } = document.getElementById("changes");
      return rows.length === 100 && rows[0].dataset.key !== newest && rows[0].dataset.key;
    };
    const newest = await (await page.waitForFunction(full)).jsonValue();
    await page.waitForFunction(full, newest); // more have come since
  } finally {
    load.kill();
  }
  assert.deepEqual(problems, []);
});

test("of 100 000 locks each view shows a bounded part, on a phone too", async (t) => {
  const large = await Service.start("--shards", "1", "--unsafe-sync");
  try {
    const locks = Array.from({ length: 100_000 }, (_, i) => ({ key: `many.${i}`, acquire: { owner: `worker-${i % 100}`, ttl_ms: 3600000 } }));
    const waiters = Array.from({ length: 500 }, (_, i) => ({ key: `many.${i % 50 && i}`, acquire: { owner: `waits-${i}`, ttl_ms: 3600000, wait_ms: 3600000 } }));
    const leave = await large.crowd(locks, waiters);
    for (const path of ["", "locks?state=waited", "lock?name=many.0", "cluster"]) {
      const page = await open(large.url + path, { viewport: phone, colorScheme: "dark" });
      await live(page);
      const painted = await page.evaluate(() => performance.getEntriesByName("first-contentful-paint")[0]?.startTime);
      const bytes = (await (await fetch(large.url + path)).text()).length;
      t.diagnostic(`/${path}: ${bytes} bytes of HTML, first paint after ${Math.round(painted)} ms`);
      assert.ok(bytes < 100_000, `/${path} has ${bytes} bytes`);
      assert.ok((await page.locator("#live tbody tr").count()) <= 200, path);
      await checkFits(page);
      await checkAccessible(page, `/${path}`);
      assert.deepEqual(problems, [], path);
      await page.close();
    }
    const page = await open(large.url);
    await page.getByText("100 000", { exact: true }).first().waitFor();
    const longest = page.getByRole("table", { name: "Longest queues" }).locator("tbody tr").first();
    assert.match(await longest.textContent(), /^many\.0 ?held by worker-010$/, "the longest queue");
    leave();
  } finally {
    await large.stop();
  }
});

// The pictures are of a cluster whose locks have a past, and in the dark ones one of its nodes is lost.
test("screenshots for the documentation", { skip: !screenshots }, async () => {
  const [first, second, lost] = await Service.cluster(3, "--http-page", "actions");
  const waiting = [];
  const acquire = (name, owner, ...more) => first.run("acquire", name, "--owner", owner, "--ttl", "1h", ...more);
  const release = (name, owner) => first.run("release", name, "--owner", owner);
  const wait = (name, owner) => waiting.push(first.begin("acquire", name, "--owner", owner, "--ttl", "1h", "--wait", "1h"));
  const shoot = async (name, path, options) => {
    const page = await open(first.url + path, options);
    await live(page);
    await page.screenshot({ path: join(screenshots, `${name}.png`), fullPage: !name.endsWith("phone") });
    await close();
  };
  try {
    for (const [name, owner] of [["orders.42", "worker-1"], ["orders.43", "worker-2"], ["mail.digest", "mail-1"], ["invoices.2026-11", "billing-2"]]) {
      await acquire(name, owner, "--metadata", "host=blade-3");
    }
    for (const n of [1, 2, 3]) await acquire("gpu.pool", `train-${n}`, "--limit", "4");
    for (const n of [1, 2, 3, 4]) {
      await acquire("reports.daily", `report-${n}`);
      await release("reports.daily", `report-${n}`);
    }
    await acquire("exports.nightly", "export-1");
    await first.run("break", "exports.nightly", "--token", "1", "--by", "anna", "--reason", "export-1 hangs, ticket 311");
    await acquire("exports.nightly", "export-2");
    await release("exports.nightly", "export-2");
    await first.run("acquire", "exports.nightly", "--owner", "export-3", "--ttl", "1s");
    await first.run("acquire", "exports.nightly", "--owner", "export-4", "--ttl", "1h", "--wait", "1m");
    for (const n of [5, 6]) wait("exports.nightly", `export-${n}`);
    for (const n of [3, 4, 5, 6, 7]) wait("invoices.2026-11", `billing-${n}`);
    for (const n of [8, 9]) wait("orders.42", `worker-${n}`);
    const overview = await open(first.url);
    await overview.getByRole("table", { name: "Longest queues" }).getByRole("link", { name: "exports.nightly" }).waitFor();
    await overview.getByRole("cell", { name: "anna: export-1 hangs" }).waitFor();
    await close();
    await shoot("overview", "", { viewport: { width: 1200, height: 800 } });
    await shoot("overview-phone", "", { viewport: phone, deviceScaleFactor: 2 });
    await shoot("lock", "lock?name=exports.nightly", { viewport: { width: 1200, height: 500 } });
    await lost.kill();
    const ill = await open(first.url);
    const timeout = 120_000; // a reading that took long is followed by a pause of up to 30 s
    await ill.getByText("node n3 is lost since").waitFor({ timeout });
    await ill.getByText("It works, with 2 warnings.").waitFor({ timeout });
    await ill.getByRole("table", { name: "Longest queues" }).getByRole("link").first().waitFor({ timeout });
    await close();
    await shoot("overview-dark", "", { viewport: { width: 1200, height: 800 }, colorScheme: "dark" });
    await shoot("cluster", "cluster", { viewport: { width: 1200, height: 500 } });
  } finally {
    for (const waiter of waiting) waiter.kill();
    await Promise.all([first, second, lost].map((s) => s.stop()));
  }
});
