import assert from "node:assert/strict";
import { test } from "node:test";
import type { NatsConnection, Status } from "@nats-io/nats-core";
import { Denials, type Publisher } from "../../src/denials.js";

/** A connection whose denials of one subject a test reports. */
function connection(): { nc: NatsConnection; deny: () => Promise<void> } {
  let report: ((status: Status) => void) | undefined;
  const status = {
    async *[Symbol.asyncIterator](): AsyncGenerator<Status> {
      for (;;) yield await new Promise<Status>((resolve) => (report = resolve));
    },
  };
  const error = Object.assign(new Error("permissions violation"), { name: "PermissionViolationError", operation: "publish", subject: "a" });
  const deny = async (): Promise<void> => {
    report?.({ type: "error", error });
    await new Promise(setImmediate);
  };
  return { nc: { status: () => status } as unknown as NatsConnection, deny };
}

/** Sends attempts that are all on one subject. */
class Sends implements Publisher {
  denials = 0;
  constructor(public open: object[]) {}

  attemptsOn(): object[] {
    return this.open;
  }

  denied(): void {
    this.denials++;
    this.open = [];
  }
}

test("as many denials as there are open attempts show that all were denied, whichever publisher the latest is of", async () => {
  for (const { open, late } of [{ open: [1, 1], late: 1 }, { open: [0, 2], late: 0 }]) {
    const { nc, deny } = connection();
    const publishers = open.map((length) => new Sends(Array.from({ length }, () => ({}))));
    for (const publisher of publishers) Denials.join(nc, publisher);
    await deny();
    publishers[late]?.open.push({});
    await deny();
    assert.deepEqual(publishers.map(({ denials }) => denials), [0, 0]);
    await deny();
    assert.deepEqual(publishers.map(({ denials }) => denials), [1, 1]);
  }
});

test("the denial of an attempt that was answered is not counted as one of the others", async () => {
  for (const answered of [0, 1]) {
    const { nc, deny } = connection();
    const publisher = new Sends([{}, {}, {}]);
    Denials.join(nc, publisher);
    await deny();
    publisher.open.splice(answered, 1);
    await deny();
    assert.equal(publisher.denials, 0);
    await deny();
    assert.equal(publisher.denials, 1);
  }
});
