import { createLog, type Logger } from "../../runtime/log.ts";
import { createOutage } from "../../runtime/outage.ts";
import type { Database } from "../postgres/database.ts";
import { BEGINNING, readNews, readSnapshot } from "./changes.ts";
import { createReload, type Reload } from "./reload.ts";
import type { Change } from "./rows.ts";
import { createWakeUp, pause } from "../../runtime/wait.ts";

/** Keeps a copy of accounts, keys and models current (S25). */
export interface Feed {
  /** Resolves when everything was read once; rejects only when the feed is stopped before. */
  readonly ready: Promise<void>;
  /** When the database was last read, Unix ms; null before everything was read once. */
  readonly lastSuccessAt: number | null;
  /** Progress of the current complete reading; null: none runs. */
  readonly loading: { readonly accounts: number; readonly keys: number } | null;
  /** Resolves when everything committed before this call has been delivered; rejects when the database cannot be read. */
  caughtUp(): Promise<void>;
  /** Reads next without waiting for a notice. */
  readSoon(): void;
  stop(): Promise<void>;
}

export interface FeedOptions {
  database: Database;
  /** Gets everything at first, in pages, later changes. Must not throw; a change is delivered again if it does. */
  readonly onChange: (change: Change) => void;
  /**
   * "begin": everything is about to be delivered. "end": everything was delivered, and a key that was not included since "begin"
   * no longer exists. A "begin" may follow another one: rows delivered in between must be kept, and prove nothing.
   */
  readonly onReload?: (phase: "begin" | "end") => void;
  /** Reads at least this often, with or without a notice. */
  pollMs?: number;
  clock?: { nowMs(): number };
  log?: Logger;
}

/** Under constant settling there is a notice for each batch of each process: they are collected for this long. */
const GATHER_MS = 20;
/** How often a slow load is logged. */
const PROGRESS_EVERY_MS = 2_000;

export function startFeed({
  database,
  onChange,
  onReload = () => {},
  pollMs = 500,
  clock = { nowMs: () => Date.now() },
  log = createLog({ process: "feed", level: "silent" }),
}: FeedOptions): Feed {
  const stopping = new AbortController();
  const wakeUp = createWakeUp();
  const ready = Promise.withResolvers<void>();
  // Its rejection must not end a process that does not wait for it.
  ready.promise.catch(() => {});
  let isReloadDue = true;
  let reload: Reload | null = null;
  let seen = BEGINNING;
  let lastSuccessAt: number | null = null;
  let nextReading = announceReading();
  const outage = createOutage({
    log,
    failing: "the database cannot be read; keeping the last state",
    over: "the database can be read again",
  });

  function send(change: Change): void {
    const rows = change.accounts.length + change.keys.length + change.models.length + change.unreadable.length;
    if (rows > 0) onChange(change);
  }

  async function catchUp(): Promise<void> {
    seen = await readNews(database, seen, send);
  }

  function readAhead(from: Reload): Promise<Change> {
    const page = from.readPage(database);
    // A waiting caller gets the failure; there is none if the load was aborted before.
    page.catch(() => {});
    return page;
  }

  /** Loads everything, page by page, and the changes in the meantime. After a failure it continues where it stopped. */
  async function load(): Promise<void> {
    if (isReloadDue) {
      isReloadDue = false;
      seen = await readSnapshot(database);
      reload = createReload();
      onReload("begin");
    }
    if (reload === null) return;
    const startedMs = performance.now();
    let newsMs = -Infinity;
    let nextPage: Promise<Change> | undefined;
    let loggedMs = startedMs;
    while ((nextPage !== undefined || !reload.isComplete) && !isReloadDue && !stopping.signal.aborted) {
      const isServing = lastSuccessAt !== null;
      // This process serves its known data: changes still arrive, and half of its time is left for requests.
      if (isServing && performance.now() - newsMs > pollMs) {
        await catchUp();
        newsMs = performance.now();
      }
      const pageMs = performance.now();
      const page = await (nextPage ?? reload.readPage(database));
      // At the start Postgres reads the next page meanwhile. Later it must not: a deletion may be reported in between, and a page
      // read before it would bring the key back.
      nextPage = isServing || reload.isComplete ? undefined : readAhead(reload);
      try {
        send(page);
      } catch (error) {
        // The reload is past this page: only a new one delivers it again.
        isReloadDue = true;
        throw error;
      }
      const nowMs = performance.now();
      if (nowMs - loggedMs > PROGRESS_EVERY_MS) {
        loggedMs = nowMs;
        log.info({ accounts: reload.accounts, keys: reload.keys }, "loading accounts and keys");
      }
      if (isServing) await pause(nowMs - pageMs, stopping.signal);
    }
    if (nextPage !== undefined || !reload.isComplete || isReloadDue) return;
    onReload("end");
    const { accounts, keys } = reload;
    log.info({ accounts, keys, ms: Math.round(performance.now() - startedMs) }, "accounts and keys loaded");
    reload = null;
  }

  async function read(): Promise<void> {
    while (isReloadDue || reload !== null) {
      await load();
      if (stopping.signal.aborted) return;
    }
    // Changes to rows that the reload has already read, too.
    await catchUp();
    lastSuccessAt = clock.nowMs();
    ready.resolve();
  }

  /** For callers that ask before it begins. */
  async function readForWaiting(): Promise<void> {
    const reading = nextReading;
    nextReading = announceReading();
    try {
      await read();
      if (stopping.signal.aborted) reading.reject(new Error("The feed was stopped."));
      else reading.resolve();
    } catch (error) {
      reading.reject(error);
      throw error;
    }
  }

  async function run(): Promise<void> {
    while (!stopping.signal.aborted) {
      try {
        await readForWaiting();
        outage.over();
      } catch (error) {
        outage.failed(error);
      }
      await wakeUp.wait(pollMs, stopping.signal);
      await pause(GATHER_MS, stopping.signal);
    }
    const stopped = new Error("The feed was stopped.");
    ready.reject(stopped);
    nextReading.reject(stopped);
  }

  const ended = Promise.all([
    run(),
    database.listen({
      channel: "ledger_changed",
      signal: stopping.signal,
      onNotice: () => wakeUp.wake(),
      onReconnected() {
        // It may be another server, or the same one restored: its transaction ids may not continue ours.
        isReloadDue = true;
        wakeUp.wake();
      },
    }),
  ]);

  return {
    ready: ready.promise,
    get lastSuccessAt() {
      return lastSuccessAt;
    },
    get loading() {
      return reload;
    },
    caughtUp: () => nextReading.promise,
    readSoon: () => wakeUp.wake(),
    async stop() {
      stopping.abort();
      await ended;
    },
  };
}

function announceReading(): PromiseWithResolvers<void> {
  const reading = Promise.withResolvers<void>();
  // Most readings have no waiting caller.
  reading.promise.catch(() => {});
  return reading;
}
