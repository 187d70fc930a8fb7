import { createPromptSealer } from "../../ledger/prompt-log/content.ts";
import {
  claimExports,
  noteAccepted,
  noteFailed,
  notePostponed,
  noteSkipped,
  type TraceExport,
} from "../../ledger/traces/exports.ts";
import { openHeaders } from "../../ledger/traces/destinations.ts";
import { readWaitingRequests, type TracedRequest } from "../../ledger/traces/waiting-requests.ts";
import type { Database } from "../../ledger/postgres/database.ts";
import type { Logger } from "../../runtime/log.ts";
import { backOffMs, startRounds, type Rounds } from "../../runtime/wait.ts";
import type { TargetNetworks } from "../outbound/networks.ts";
import { startSending } from "../outbound/sending.ts";
import type { BatchResult } from "./answer.ts";
import { fillBatch, type TracedItem } from "./batch.ts";
import { openContent } from "./content.ts";
import { encodeSpans } from "./encode.ts";
import type { TraceEvents } from "./events.ts";
import { gatewayAddressOf } from "./gateway-address.ts";
import { sendSpans } from "./send.ts";
import { spanOf, type TracedContent } from "./span.ts";

export interface TraceExportDeps {
  database: Database;
  pepper: Buffer;
  publicBaseUrl: string;
  targetNetworks: TargetNetworks;
  events: TraceEvents;
  log: Logger;
  everyMs?: number;
}

type BatchDeps = Omit<TraceExportDeps, "everyMs"> & {
  /** Batches in flight are given back. */
  signal?: AbortSignal;
};

const EVERY_MS = 2_000;
/** Concurrent batches in each process. */
const MAX_SENDING = 16;
/** Of these, to destinations that did not accept their last one: a hanging one takes as long as sending may. */
const MAX_FAILING = 4;
const RETRY = { firstMs: 5_000, maxMs: 600_000 } as const;
/** What batches in flight have at the end. */
const STOP_WITHIN_MS = 3_000;
/** Somebody must change the destination, or its server, first. */
const REFUSED_MS = 900_000;

/** Sends accounts' requests to their destinations, from whichever replica takes them first. */
export function startTraceExports(deps: TraceExportDeps): Rounds {
  const { database, log, everyMs = EVERY_MS } = deps;
  const onFailure = (error: unknown) => log.warn({ err: error }, "failed to export traces");
  const stopping = new AbortController();
  const sending = startSending<TraceExport>({
    max: MAX_SENDING,
    claim: (limit, inFlight) =>
      claimExports(database, {
        limit,
        failingLimit: MAX_FAILING - inFlight.filter(({ failures }) => failures > 0).length,
        busyDestinations: inFlight.map(({ id }) => id),
      }),
    async send(claimed) {
      await exportBatch(claimed, { ...deps, signal: stopping.signal });
      return true;
    },
    onFailure,
  });
  const rounds = startRounds(sending.sendDue, { everyMs, onFailure });
  return {
    async stop() {
      const timer = setTimeout(() => stopping.abort(), STOP_WITHIN_MS);
      await Promise.all([rounds.stop(), sending.stop()]);
      clearTimeout(timer);
    },
  };
}

/** Sends what is due until nothing is, and waits for it. */
export async function exportTraces(deps: Omit<TraceExportDeps, "everyMs">): Promise<void> {
  for (;;) {
    const due = await claimExports(deps.database, { limit: MAX_SENDING, failingLimit: MAX_SENDING, busyDestinations: [] });
    if (due.length === 0) return;
    await Promise.all(due.map((claimed) => exportBatch(claimed, deps)));
  }
}

async function exportBatch(claimed: TraceExport, deps: BatchDeps): Promise<void> {
  const { database, events } = deps;
  const { id, accountId, cursor, batchLimit, lastNumber, includesContent } = claimed;
  const minSeconds = includesContent ? RECORDED_WITHIN_SECONDS : 0;
  const waiting = await readWaitingRequests(database, { accountId, after: cursor, limit: batchLimit, minSeconds });
  if (waiting.isEarly) return notePostponed(database, claimed);
  const batch = await fillBatch(waiting.requests, await contentReader(claimed, waiting.requests, deps));
  const last = batch.at(-1)?.request;
  if (last === undefined) {
    const through = waiting.through ?? lastNumber;
    await noteSkipped(database, { id, cursor }, through);
    events.skipped(Number(through - cursor));
    return;
  }
  const result = await sendTo(claimed, encodeBatch(claimed, batch, deps), deps);
  // Another process sends the same batch: nothing is wrong with the destination.
  if (result.kind === "later" && deps.signal?.aborted === true) return notePostponed(database, claimed);
  await noteResult(result, { claimed, size: batch.length, last }, deps);
}

/** A record is written behind its request, at the latest after some attempts. */
const RECORDED_WITHIN_SECONDS = 10;

type ContentDeps = Pick<TraceExportDeps, "database" | "pepper">;

async function contentReader(
  { accountId, includesContent }: TraceExport,
  requests: readonly TracedRequest[],
  { database, pepper }: ContentDeps,
): Promise<(request: TracedRequest) => Promise<TracedContent | undefined>> {
  return includesContent ? openContent(database, createPromptSealer(pepper), { accountId, requests }) : async () => undefined;
}

function encodeBatch(
  { accountId, kind }: TraceExport,
  batch: readonly TracedItem[],
  { publicBaseUrl }: Pick<TraceExportDeps, "publicBaseUrl">,
): Uint8Array {
  const gateway = gatewayAddressOf(publicBaseUrl);
  return encodeSpans(
    accountId,
    batch.map(({ request, content }) => spanOf(request, { kind, gateway, content })),
  );
}

async function sendTo(
  claimed: TraceExport,
  body: Uint8Array,
  { pepper, targetNetworks, signal }: SendDeps,
): Promise<BatchResult> {
  const headers = openHeaders(claimed.sealedHeaders, { id: claimed.id, url: claimed.url, pepper });
  if (headers === undefined) return { kind: "refused", problem: "The headers cannot be read. Enter them again." };
  return sendSpans({ ...claimed, headers }, body, { networks: targetNetworks, signal });
}

type SendDeps = Pick<BatchDeps, "pepper" | "targetNetworks" | "signal">;

interface SentBatch {
  claimed: TraceExport;
  /** Requests in it, and the last of them. */
  size: number;
  last: TracedRequest;
}

async function noteResult(
  result: BatchResult,
  { claimed, size, last }: SentBatch,
  { database, events, log }: Pick<TraceExportDeps, "database" | "events" | "log">,
): Promise<void> {
  events.answered(result.kind);
  if (result.kind === "accepted") {
    const rejected = Math.min(result.rejected, size);
    const skipped = Number(last.number - claimed.cursor) - size;
    const sent = size - rejected;
    await noteAccepted(database, claimed, { through: last.number, sent, rejected, skipped, remark: result.remark });
    events.sent(sent);
    events.rejected(rejected);
    events.skipped(skipped);
    return;
  }
  const isAlone = result.kind === "unfit" && size === 1;
  const outcome = await noteFailed(database, claimed, {
    problem: result.problem,
    retryAfterMs: retryAfterMs(result, claimed),
    batchLimit: result.kind === "unfit" ? Math.max(1, Math.floor(size / 2)) : claimed.batchLimit,
    rejectedThrough: isAlone ? last.number : undefined,
  });
  if (isAlone) events.rejected(1);
  if (outcome === "disabled")
    log.warn({ account: claimed.accountId, destination: claimed.id }, "disabled a trace destination that accepts nothing");
}

function retryAfterMs(result: Exclude<BatchResult, { kind: "accepted" }>, { failures }: TraceExport): number {
  switch (result.kind) {
    case "refused":
      return REFUSED_MS;
    case "later":
      return result.retryAfterMs ?? backOffMs(RETRY, failures + 1, Math.random());
    case "unfit":
      return backOffMs(RETRY, failures + 1, Math.random());
  }
}
