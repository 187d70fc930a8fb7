import { createLog, type Logger } from "../runtime/log.ts";
import { readChanges, type Change } from "./changes.ts";
import type { Database } from "./database.ts";
import { createDoorbell } from "./doorbell.ts";

export type { AccountRow, KeyRow, ModelRow } from "./changes.ts";
export type FeedChange = Change;

/** Keeps a copy of accounts, keys and models current (S25). */
export interface Feed {
  /** Resolves when everything was read once; rejects only when the feed is stopped before. */
  readonly ready: Promise<void>;
  /** When the database was last read, Unix ms; null before the first time. */
  readonly lastSuccessAt: number | null;
  stop(): Promise<void>;
}

export interface FeedOptions {
  database: Database;
  /** Gets everything at first, later what changed. Must not throw; what it got is sent again if it does. */
  readonly onChange: (change: FeedChange) => void;
  /** Reads at least this often, whether or not a notice comes. */
  pollMs?: number;
  clock?: { nowMs(): number };
  log?: Logger;
}

/** Under constant settling there is a notice for each batch of each process: they are gathered for this long. */
const GATHER_MS = 20;
const EVERYTHING = 0n;

export function startFeed({
  database,
  onChange,
  pollMs = 500,
  clock = { nowMs: () => Date.now() },
  log = createLog({ process: "feed", level: "silent" }),
}: FeedOptions): Feed {
  const stopping = new AbortController();
  const doorbell = createDoorbell();
  const ready = Promise.withResolvers<void>();
  // Whoever does not wait for it must not be ended by its rejection.
  ready.promise.catch(() => {});
  let sinceXid = EVERYTHING;
  let lastSuccessAt: number | null = null;
  let failures = 0;

  async function read(): Promise<void> {
    const fromXid = sinceXid;
    const { nextXid, unreadableModels, ...change } = await readChanges(database, fromXid);
    for (const { name, error } of unreadableModels)
      log.error({ err: error, model: name }, "a published model cannot be read; it stays as it was");
    if (change.accounts.length + change.keys.length + change.models.length > 0 || lastSuccessAt === null) onChange(change);
    // Unless everything was asked for in the meantime.
    if (sinceXid === fromXid) sinceXid = nextXid;
    lastSuccessAt = clock.nowMs();
    ready.resolve();
  }

  async function run(): Promise<void> {
    while (!stopping.signal.aborted) {
      try {
        await read();
        if (failures > 0) log.info({ failures }, "the database is read again");
        failures = 0;
      } catch (error) {
        failures++;
        if (failures === 1) log.warn({ err: error }, "the database cannot be read; what is known stays in force");
      }
      await doorbell.wait(pollMs, stopping.signal);
      await createDoorbell().wait(GATHER_MS, stopping.signal);
    }
    ready.reject(new Error("The feed was stopped."));
  }

  const ended = Promise.all([
    run(),
    database.listen({
      channel: "ledger_changed",
      signal: stopping.signal,
      onNotice: () => doorbell.ring(),
      onReconnected() {
        // It may be another server, or the same one restored: its transaction ids need not follow ours.
        sinceXid = EVERYTHING;
        doorbell.ring();
      },
    }),
  ]);

  return {
    ready: ready.promise,
    get lastSuccessAt() {
      return lastSuccessAt;
    },
    async stop() {
      stopping.abort();
      await ended;
    },
  };
}
