import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { Estimate, margin } from "../../src/estimate.js";
import { Renewal, spread } from "../../src/renewal.js";

/** A request for more time on its way to the service, or its answer on the way back. */
interface Attempt {
  id: number;
  sent: number;
  ttl: number;
  /** That of the request; 0: none. Of an answer, the highest of all. */
  order: number;
}

/** What an answer has. */
interface Answer extends Attempt {
  remaining: number;
}

const ttls = fc.constantFrom(100, 1000, 3000, 30_000);

const action = fc.oneof(
  fc.record({ do: fc.constant("send" as const), ttl: fc.option(ttls, { nil: undefined }) }),
  fc.record({ do: fc.constantFrom("arrive" as const, "arriveTwice" as const, "answer" as const, "loseAnswer" as const, "drop" as const), which: fc.nat(7) }),
  fc.record({ do: fc.constant("another" as const), ttl: ttls }),
  fc.record({ do: fc.constant("wait" as const), ms: fc.integer({ min: 1, max: 2000 }) }),
);

test("the holder considers a lease over before the service does, whatever is lost, doubled or late", () => {
  let compared = 0;
  fc.assert(
    fc.property(fc.boolean(), ttls, fc.array(action, { maxLength: 60, size: "max" }), (ordered, ttl, actions) => {
      let now = 1000;
      let deadline = now + ttl; // the service's
      let last = 0;
      let order = 1;
      let highest = 0; // that the service has granted
      const estimate = new Estimate(now, ttl, ttl);
      const under: Attempt[] = [];
      const answers: Answer[] = [];
      const take = <T>(from: T[], which: number): T | undefined => from.splice(which % Math.max(from.length, 1), 1)[0];
      const arrive = (a: Attempt): void => {
        // The estimate assumes that a request without a number never arrives late. One with a number may.
        const late = !ordered && now - a.sent >= a.ttl - margin(a.ttl);
        if (late || now >= deadline) return;
        if (a.order >= highest) {
          deadline = now + a.ttl;
          highest = a.order;
        }
        answers.push({ ...a, remaining: deadline - now, order: highest });
      };
      for (const step of actions) {
        switch (step.do) {
          case "send":
            if (step.ttl !== undefined && step.ttl !== estimate.asked) order++;
            if (step.ttl !== undefined) estimate.asked = step.ttl;
            estimate.order = ordered ? order : 0;
            under.push({ id: ++last, sent: now, ttl: estimate.asked, order: estimate.order });
            estimate.sent(last, now);
            break;
          case "arrive":
          case "arriveTwice": {
            const a = take(under, step.which);
            if (a !== undefined) arrive(a);
            if (a !== undefined && step.do === "arriveTwice") arrive(a);
            break;
          }
          case "answer": {
            const a = take(answers, step.which);
            if (a === undefined) break;
            estimate.granted(a.id, a.remaining, a.order);
            if (a.order > order) order = a.order + 1;
            break;
          }
          case "loseAnswer":
            take(answers, step.which);
            break;
          case "drop": {
            const a = take(under, step.which);
            if (a !== undefined) estimate.drop(a.id);
            break;
          }
          case "another": // client of the owner: what it does is unknown here, so that it may only lengthen the lease
            if (!ordered || now >= deadline || now + step.ttl < deadline) break;
            deadline = now + step.ttl;
            highest++;
            break;
          case "wait":
            now += step.ms;
        }
        if (now >= estimate.until) continue;
        compared++;
        assert.ok(estimate.until <= deadline, `the holder counts until ${estimate.until}, the service until ${deadline}`);
      }
    }),
    { numRuns: Number(process.env.HOLDFAST_EXAMPLES ?? 2000) },
  );
  assert.ok(compared > 2000, `the holder considered the lease held only ${compared} times`);
});

test("a repetition that arrives behind a request for a longer lease cuts that short", () => {
  const estimate = new Estimate(0, 3000, 3000);
  estimate.sent(1, 1000);
  estimate.asked = 30_000;
  estimate.sent(2, 1100);
  estimate.granted(2, 30_000);
  assert.equal(estimate.until, 1100 + 3000 - margin(3000));
  estimate.granted(1, 3000);
  assert.equal(estimate.until, 1000 + 3000 - margin(3000));
});

test("a late copy of an earlier request changes nothing behind a later number", () => {
  const estimate = new Estimate(0, 3000, 3000);
  estimate.order = 1;
  estimate.sent(1, 1000);
  estimate.asked = 30_000;
  estimate.order = 2;
  estimate.sent(2, 1100);
  estimate.granted(2, 30_000, 2);
  assert.equal(estimate.until, 1100 + 30_000 - margin(30_000));
  assert.equal(estimate.granted(1, 3000, 2), undefined);
});

test("the answer to a request that another one has overtaken has the length of the other one", () => {
  const estimate = new Estimate(0, 30_000, 30_000);
  estimate.order = 1;
  estimate.sent(1, 1000);
  estimate.asked = 8000;
  estimate.order = 2;
  estimate.sent(2, 2000);
  estimate.granted(1, 7500, 2);
  assert.equal(estimate.until, 1000 + 7500 - margin(7500));
});

test("clocks differ by a thousandth of a long lease", () => {
  assert.equal(margin(60_000), 1000);
  assert.equal(margin(86_400_000), 86_400);
});

test("an answer that comes twice counts once", () => {
  const estimate = new Estimate(0, 1000, 1000);
  estimate.sent(1, 100);
  assert.equal(estimate.granted(1, 1000), 100);
  assert.equal(estimate.granted(1, 1000), undefined);
  assert.equal(estimate.until, 1100 - margin(1000));
});

test("no more counts than was asked for, and no less than remains", () => {
  const estimate = new Estimate(0, 1000, 1000);
  estimate.sent(1, 100);
  estimate.granted(1, 50_000);
  assert.equal(estimate.until, 1100 - margin(1000));
  estimate.sent(2, 200);
  estimate.granted(2, 400);
  assert.equal(estimate.until, 600 - margin(1000));
});

test("a lease is renewed after a third, and again after a twelfth without an answer", () => {
  const renewal = new Renewal(1000, 30_000, 30_000);
  assert.ok(renewal.due <= 11_000 && renewal.due >= 11_000 - 10_000 / 16);
  renewal.sent(1, 11_000);
  assert.equal(renewal.due, 11_000 + spread(30_000));
  renewal.sent(2, 13_000, 500);
  assert.equal(renewal.due, 13_500);
  assert.equal(renewal.attempts, 2);
  renewal.granted(1, 30_000); // the answer to a later one may matter yet
  assert.equal(renewal.attempts, 2);
  renewal.granted(2, 30_000);
  assert.equal(renewal.attempts, 0);
  assert.ok(Math.abs(renewal.due - 22_750) <= 750);
});

test("pauses between renewals are bounded", () => {
  assert.equal(spread(100), 20);
  assert.equal(spread(12_000), 1000);
  assert.equal(spread(86_400_000), 2000);
});
