// A process that works under a lock whenever it gets it: node holder.js HOST URL FOLDER NAME TTL
import "reflect-metadata";
import { connect } from "@nats-io/transport-node";
import { Logger } from "@nestjs/common";
import { NestFactory } from "@nestjs/core";
import { Interval, ScheduleModule } from "@nestjs/schedule";
import { connectWith, Holdfast, holdfast, type Lock } from "@holdfast-io/client";
import { Directory } from "@holdfast-io/client/fence/file";
import { SchedulerLock } from "@holdfast-io/client/nestjs";
import Redlock from "@holdfast-io/client/redlock";
import { aborted } from "../support/stand.js";

const [host = "", url = "", folder = "", name = "", length = ""] = process.argv.slice(2);
const ttl = Number(length);
const client = holdfast(await connectWith(connect, { servers: url, reconnectTimeWait: 50 }));
const guard = await Directory.open(folder);

const asked = new Promise<void>((resolve) => process.once("SIGUSR2", () => { resolve(); }));

/** Works until it is asked to end, or has lost the lock: it then says what becomes of a late write. */
async function work(lock: Lock | undefined, signal = lock?.signal): Promise<void> {
  if (lock === undefined || signal === undefined) {
    console.log("has no lock");
    return;
  }
  await guard.write(lock, name, "in time");
  console.log(`has ${lock.fence}`);
  if (await Promise.race([asked, aborted(signal)]) === undefined) {
    console.log(`is done with ${lock.fence}`);
    return;
  }
  const late = await guard.write(lock, name, "late").then(() => "written", (error: unknown) => (error as Error).name);
  console.log(`has lost ${lock.fence}: ${late}`);
}

class Jobs {
  @Interval(100)
  @SchedulerLock(name, { minHold: 0, ttl })
  job(lock?: Lock): Promise<void> {
    return work(lock);
  }
}

console.log("connected");
if (host === "nestjs") {
  Logger.overrideLogger(false);
  const providers = [Jobs, { provide: Holdfast, useValue: client }];
  await NestFactory.createApplicationContext({ module: Jobs, imports: [ScheduleModule.forRoot()], providers });
} else {
  const redlock = new Redlock([client], { retryCount: -1 });
  for (;;) await redlock.using([name], ttl, (signal, lock) => work(lock.locks.all[0], signal)).catch(() => undefined);
}
