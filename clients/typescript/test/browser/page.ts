// What the pages of the tests load: the client and the connection as global names.
import { LockLostError, holdfast } from "@holdfast-io/client";
import { wsconnect } from "@nats-io/nats-core";

const names = { LockLostError, holdfast, wsconnect };
Object.assign(globalThis, names);

export type Names = typeof names;
