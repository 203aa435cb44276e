// Jobs of @nestjs/schedule in two contexts of Nest, as two processes have them.
import "reflect-metadata";
import assert from "node:assert/strict";
import { after, before, beforeEach, describe, test } from "node:test";
import { Logger, type INestApplicationContext } from "@nestjs/common";
import { NestFactory } from "@nestjs/core";
import { Cron, ScheduleModule, SchedulerRegistry } from "@nestjs/schedule";
import { ClosedError, Holdfast, LockLostError, type Lock } from "@holdfast-io/client";
import { SchedulerLock } from "@holdfast-io/client/nestjs";
import { aborted, Stand } from "../support/stand.js";

const stand = new Stand();

/** Ticks when a test says so: its cron has a tick every 29 February. */
const byHand = (name: string): [string, { name: string; waitForCompletion: true }] => ["0 0 29 2 *", { name, waitForCompletion: true }];

class Jobs {
  /** What the jobs have run, each with its lock. */
  readonly runs: [string, Lock][] = [];
  work: (lock: Lock) => Promise<void> = () => Promise.resolve();

  @Cron("* * * * * *")
  @SchedulerLock("test.nest.second", { minHold: 0 })
  everySecond(lock: Lock): void {
    ticked(lock);
  }

  @Cron(...byHand("short"))
  @SchedulerLock("test.nest.short", { minHold: 3_600_000 })
  short(lock: Lock): void {
    this.runs.push(["short", lock]);
  }

  @SchedulerLock("test.nest.report", { minHold: 0 })
  @Cron(...byHand("report"))
  async report(lock: Lock): Promise<void> {
    this.runs.push(["report", lock]);
    await this.work(lock);
  }

  @Cron(...byHand("other client"))
  @SchedulerLock("test.nest.other", { minHold: 0, client: "OTHER" })
  other(lock: Lock): void {
    this.runs.push(["other client", lock]);
  }
}

let ticked: (lock: Lock) => void;
const tick = new Promise<Lock>((resolve) => { ticked = resolve; });

/** A process. */
interface Process {
  app: INestApplicationContext;
  client: Holdfast;
  jobs: Jobs;
  /** Has a job tick, and waits until its scheduler has done with that. */
  fire(name: string): Promise<void>;
}

/** What Nest has logged as errors. */
let logged: unknown[] = [];
Logger.overrideLogger({ log: () => undefined, warn: () => undefined, error: (error: unknown) => logged.push(error) });

/** The module of a process. */
class Root {
  readonly name = "root";
}

async function start(): Promise<Process> {
  const client = stand.client({ ttl: 3000 });
  const providers = [Jobs, { provide: Holdfast, useFactory: () => client }, { provide: "OTHER", useFactory: () => stand.client({ owner: "other" }) }];
  const root = { module: Root, imports: [ScheduleModule.forRoot()], providers };
  const app = await NestFactory.createApplicationContext(root);
  const fire = (name: string): Promise<void> => app.get(SchedulerRegistry).getCronJob(name).fireOnTick();
  return { app, client, jobs: app.get(Jobs), fire };
}

describe("jobs of Nest", () => {
  let ann: Process, bob: Process;

  before(async () => {
    [ann, bob] = [await start(), await start()];
  });

  beforeEach(() => {
    logged = [];
  });

  after(async () => {
    for (const { app } of [ann, bob]) await app.close();
  });

  test("a cron runs a job with its lock", async () => {
    const { name } = await tick;
    assert.equal(name, "test.nest.second");
  });

  test("a tick has one run, also if a process is late and the run was short", async () => {
    await ann.fire("short");
    await bob.fire("short");
    assert.deepEqual([ann, bob].map(({ jobs }) => jobs.runs.map(([name]) => name)), [["short"], []]);
    assert.deepEqual(logged, []);
  });

  test("a job is locked while it runs, whatever the order of the decorators", async () => {
    let end: () => void = () => undefined;
    const done = new Promise<void>((resolve) => { end = resolve; });
    const running = new Promise<Lock>((resolve) => {
      ann.jobs.work = (held) => {
        resolve(held);
        return done;
      };
    });
    const run = ann.fire("report");
    const lock = await running;
    assert.deepEqual([lock.valid, lock.owner], [true, ann.client.owner]);
    await bob.fire("report");
    assert.deepEqual(bob.jobs.runs.filter(([name]) => name === "report"), []);
    end();
    await run;
    await bob.fire("report");
    const [[, next]] = bob.jobs.runs.filter(([name]) => name === "report") as [[string, Lock]];
    assert.ok(!lock.valid && next.token > lock.token);
    assert.deepEqual(logged, []);
  });

  test("a job that loses its lock has to end, and the scheduler logs it", async () => {
    let reason: unknown;
    ann.jobs.work = async ({ name, token, signal }) => {
      await stand.ask("break", name, { token: String(token), reason: "a test" });
      reason = await aborted(signal);
    };
    await ann.fire("report");
    assert.ok(reason instanceof LockLostError);
    assert.deepEqual(logged, [reason]);
  });

  test("an error of a job is logged as it is, and its lock is free", async () => {
    const problem = new Error("of the job");
    ann.jobs.work = () => Promise.reject(problem);
    await ann.fire("report");
    assert.deepEqual(logged, [problem]);
    await stand.free("test.nest.report");
  });

  test("a job names the provider of its client", async () => {
    await ann.fire("other client");
    assert.ok(ann.jobs.runs.some(([name, { owner }]) => name === "other client" && owner === "other"));
  });

  test("nothing runs without an answer of the service", async () => {
    const { length } = bob.jobs.runs;
    await bob.client.close();
    await bob.fire("report");
    assert.equal(bob.jobs.runs.length, length);
    assert.ok(logged.length > 0 && logged.every((error) => error instanceof ClosedError));
  });
});
