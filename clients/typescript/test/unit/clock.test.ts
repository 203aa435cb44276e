import assert from "node:assert/strict";
import { test } from "node:test";
import { Alarm, Alarms } from "../../src/alarms.js";
import { SuspendClock } from "../../src/clock.js";

/** Clocks that are moved by hand. */
class Manual {
  steady = 5000;
  people = 1_700_000_000_000;
  monotonic = (): number => this.steady;
  wall = (): number => this.people;
  pass(ms: number): void {
    this.steady += ms;
    this.people += ms;
  }
}

test("the clock counts the time of a suspend", () => {
  const system = new Manual();
  const clock = new SuspendClock(system);
  const begun = clock.now();
  system.pass(1000);
  assert.equal(clock.now() - begun, 1000);
  system.people += 60_000; // the monotonic clock stood still
  assert.equal(clock.now() - begun, 61_000);
  system.pass(500);
  assert.equal(clock.now() - begun, 61_500);
});

test("the clock never goes back when the wall clock is set back", () => {
  const system = new Manual();
  const clock = new SuspendClock(system);
  const begun = clock.now();
  system.people -= 3_600_000;
  system.pass(10);
  assert.equal(clock.now() - begun, 10);
  system.people += 30_000; // a suspend behind that counts
  assert.equal(clock.now() - begun, 30_010);
});

test("what two clocks differ by chance does not add up", () => {
  const system = new Manual();
  const clock = new SuspendClock(system);
  const begun = clock.now();
  for (let i = 0; i < 1000; i++) {
    system.people += i % 2 === 0 ? 20 : -20;
    system.pass(1);
    clock.now();
  }
  assert.equal(clock.now() - begun, 1000);
});

test("alarms go off in their order, also those that were moved, and not those that were stopped", async () => {
  const clock = new SuspendClock();
  const alarms = new Alarms(clock);
  const now = clock.now();
  const order: number[] = [];
  await new Promise<void>((resolve) => {
    const all = Array.from({ length: 50 }, (_, i) => new Alarm(() => order.push(i)));
    for (const [i, alarm] of all.entries()) alarms.set(alarm, now + 200 - i);
    for (const [i, alarm] of all.entries()) alarms.set(alarm, now + ((i * 7) % 50) / 10);
    for (const [i, alarm] of all.entries()) if (i % 3 === 0) alarms.stop(alarm);
    alarms.set(new Alarm(resolve), now + 30);
    const hold = setTimeout(resolve, 60_000); // the timers of alarms do not hold the process
    void Promise.resolve().then(() => {
      alarms.set(new Alarm(() => {
        clearTimeout(hold);
      }), now + 30);
    });
  });
  const expected = Array.from({ length: 50 }, (_, i) => i).filter((i) => i % 3 !== 0).sort((a, b) => ((a * 7) % 50) - ((b * 7) % 50));
  assert.deepEqual(order, expected);
  alarms.close();
});

test("an alarm that sets itself again does not starve the others", async () => {
  const clock = new SuspendClock();
  const alarms = new Alarms(clock);
  let turns = 0;
  const again = new Alarm(() => {
    turns++;
    alarms.set(again, clock.now());
  });
  alarms.set(again, clock.now());
  await new Promise<void>((resolve) => {
    const hold = setTimeout(() => undefined, 60_000);
    alarms.set(new Alarm(() => {
      clearTimeout(hold);
      resolve();
    }), clock.now() + 20);
  });
  alarms.close();
  assert.ok(turns > 0);
});
