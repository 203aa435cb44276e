import type { ConnectionOptions, NatsConnection } from "@nats-io/nats-core";
import { InvalidError, UnavailableError } from "./errors.js";

/**
 * Connects to NATS as a holder of locks needs it, with the `connect` or `wsconnect` of a transport. The connection
 * never gives up, also after a login that was refused for a while, tries again within half a second, and notices a dead
 * server within some 10 s. The first attempt is not repeated. The caller closes the connection after the client.
 *
 * Name several `servers`, so that the end of one is no outage. Options that are given count.
 *
 * @throws UnavailableError with the reason `login` or `not_connected`.
 * @throws InvalidError if the options are no object.
 */
export async function connectWith(
  connect: (options: ConnectionOptions) => Promise<NatsConnection>,
  options: ConnectionOptions = {},
): Promise<NatsConnection> {
  if (Object(options) !== options) { // a text may have a login, so it is not shown
    throw new InvalidError({ operation: "connect", detail: "the options must be an object, as { servers }" });
  }
  const lasting = { maxReconnectAttempts: -1, ignoreAuthErrorAbort: true, reconnectTimeWait: 400, pingInterval: 5000, maxPingOut: 2 };
  try {
    return await connect({ ...lasting, ...options });
  } catch (cause) {
    const servers = [options.servers ?? "127.0.0.1:4222"].flat().map(withoutLogin);
    const isLogin = isRefusedLogin(cause);
    const text = cause instanceof Error ? cause.message : String(cause);
    throw new UnavailableError({
      operation: "connect",
      detail: isLogin
        ? `NATS at ${servers.join(", ")} refuses the login: ${text}; check the user and the password or credentials`
        : `no NATS server can be reached at ${servers.join(", ")}: ${text}`,
      reason: isLogin ? "login" : "not_connected",
      cause,
    });
  }
}

/** Returns the address of a server without the login in it, whatever a password contains. */
export function withoutLogin(server: string): string {
  return server.replace(/^([a-z]+:\/\/)?.*@/i, "$1");
}

/** Reports whether an error says that NATS refuses the login. */
function isRefusedLogin(error: unknown): boolean {
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    if (cause.name === "AuthorizationError" || cause.name === "UserAuthenticationExpiredError") return true;
  }
  return false;
}

/** Warns once for a client when its connection will give up, and its locks with it. */
export function warnOfEnd(nc: NatsConnection): void {
  const { options } = nc as { options?: ConnectionOptions };
  if (options === undefined) return;
  const { reconnect = true, maxReconnectAttempts = 10, reconnectTimeWait = 2000 } = options;
  const advice = "use connectWith, or maxReconnectAttempts: -1";
  if (!reconnect) {
    console.warn(`holdfast: the NATS connection does not reconnect: when it breaks, all locks are lost; ${advice}`);
  } else if (maxReconnectAttempts >= 0) {
    const after = Math.round((maxReconnectAttempts * reconnectTimeWait) / 1000);
    console.warn(`holdfast: the NATS connection gives up after about ${after} s without a server, and all locks with it; ${advice}`);
  }
}
