import { Client, type ClientConfig } from "pg";
import type { Logger } from "../../runtime/log.ts";
import { createOutage } from "../../runtime/outage.ts";
import { backOffMs, pause } from "../../runtime/wait.ts";

export interface ListenOptions {
  channel: string;
  /** Ends the listening. */
  signal: AbortSignal;
  readonly onNotice: () => void;
  /** It listens again after a loss. Notices in between are lost, and it may be another server now. */
  readonly onReconnected: () => void;
}

const RECONNECT = { firstMs: 50, maxMs: 5_000 } as const;
/** How long a silently broken connection may go unnoticed. */
const HEARTBEAT_MS = 10_000;
const END_WITHIN_MS = 1_000;

/** LISTENs on its own connection, and reconnects indefinitely. Resolves when the signal aborts. */
export async function listen(config: ClientConfig, options: ListenOptions & { log: Logger }): Promise<void> {
  const { channel, signal, log, onNotice, onReconnected } = options;
  let hasConnected = false;
  let failures = 0;
  const outage = createOutage({
    log: log.child({ channel }),
    failing: "lost the database's notification connection; reconnecting",
    over: "the database's notification connection is back",
  });
  const onConnected = () => {
    // A connection that was lost before it listened leaves the same gap.
    const hasGap = hasConnected || failures > 0;
    failures = 0;
    outage.over();
    if (hasGap) onReconnected();
    hasConnected = true;
  };
  while (!signal.aborted) {
    try {
      await listenOnce(config, { channel, signal, onNotice, onConnected });
    } catch (error) {
      failures++;
      if (signal.aborted) return;
      outage.failed(error);
      await pause(backOffMs(RECONNECT, failures, Math.random()), signal);
    }
  }
}

interface OneConnection extends Pick<ListenOptions, "channel" | "signal" | "onNotice"> {
  readonly onConnected: () => void;
}

/** @throws the reason for the end of the connection, unless the signal ended it. */
async function listenOnce(config: ClientConfig, { channel, signal, onNotice, onConnected }: OneConnection): Promise<void> {
  const client = new Client(config);
  const broken = new AbortController();
  client.on("error", (error) => broken.abort(error));
  client.on("end", () => broken.abort(new Error("The connection was closed.")));
  client.on("notification", () => onNotice());
  const ended = AbortSignal.any([signal, broken.signal]);
  try {
    await client.connect();
    await client.query(`LISTEN ${client.escapeIdentifier(channel)}`);
    onConnected();
    while (!ended.aborted) {
      await pause(HEARTBEAT_MS, ended);
      if (!ended.aborted) await client.query("SELECT 1");
    }
    broken.signal.throwIfAborted();
  } finally {
    await endWithin(client, END_WITHIN_MS);
  }
}

/** A connection whose other end is unreachable never reports that it is closed. */
async function endWithin(client: Client, maxMs: number): Promise<void> {
  const { promise: late, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, maxMs);
  await Promise.race([client.end(), late]).finally(() => clearTimeout(timer));
}
