import { randomUUID } from "node:crypto";
import { Agent } from "node:http";
import { v7 as uuidv7 } from "uuid";
import { GatewayError } from "../../contract/errors.ts";
import { CLIENT_PATHS } from "../../contract/protocol.ts";
import type { BatchContent } from "../../ledger/batches/content.ts";
import { answerLine } from "../../ledger/batches/result-line.ts";
import {
  fliesAlone,
  finishRequest,
  isFree,
  keepRequests,
  noteSent,
  postponeRequest,
  releaseRequests,
  returnRequest,
  SENT_SECONDS,
  stopBatch,
  takeRequests,
  type SendableRequest,
  type SentRequest,
} from "../../ledger/batches/sending.ts";
import type { Tickets } from "../../ledger/batches/ticket.ts";
import type { Database } from "../../ledger/postgres/database.ts";
import { errorCode } from "../../runtime/error-code.ts";
import type { Logger } from "../../runtime/log.ts";
import { backOffMs, createWakeUp, pause, startRounds } from "../../runtime/wait.ts";
import type { RelayTarget } from "../early-answers/relay.ts";
import { failureOf, judge, MAX_ATTEMPTS, type Verdict } from "./judge.ts";
import { createRefusals, setNewest } from "./refusals.ts";
import { post } from "./send.ts";

/** Sends the requests of batches, one by one, through Envoy as any client would (docs/decisions/0086). */
export interface BatchRunner {
  /** Takes no further request, and gives those in flight this long. */
  stop(withinMs: number): Promise<void>;
}

export interface BatchRunnerDeps {
  database: Database;
  content: BatchContent;
  tickets: Pick<Tickets, "issue">;
  /** Where Envoy accepts the requests. */
  target: RelayTarget;
  log: Logger;
}

/** In this process, of all accounts. */
const MAX_IN_FLIGHT = 8;
const LOOKS_EVERY_MS = 1_000;
/** How long this process takes no requests after it could not send one. */
const RESTS_MS = 2_000;
/** Refusals for lack of credit while nothing else of the account's batches runs: others may hold some for a moment. */
const MAX_CREDIT_REFUSALS = 3;
const WRITES_AGAIN = { firstMs: 200, maxMs: 5_000 } as const;

const LOST = new GatewayError(
  "upstream_error",
  `The request was sent ${MAX_ATTEMPTS} times, and its answer was lost each time. Send it outside a batch.`,
);

export function startBatchRunner({ database, content, tickets, target, log }: BatchRunnerDeps): BatchRunner {
  const holder = randomUUID();
  // A connection for each request: one that Envoy closes at the wrong moment would lose an answer.
  const agent = new Agent({ keepAlive: false });
  const stopping = new AbortController();
  const ending = new AbortController();
  const wakeUp = createWakeUp();
  const flying = new Map<SendableRequest, Promise<void>>();
  /** By batch; only those that were refused last time. */
  const creditRefusals = new Map<string, number>();
  const refusals = createRefusals({ nowMs: () => performance.now(), random: Math.random });
  let restsUntilMs = -Infinity;

  async function look(): Promise<void> {
    while (flying.size < MAX_IN_FLIGHT && !stopping.signal.aborted && performance.now() >= restsUntilMs) {
      const taken = await takeRequests(database, { holder, limit: MAX_IN_FLIGHT - flying.size, refused: refusals.last });
      if (taken.length === 0) return;
      for (const request of taken) fly(request);
    }
  }

  function fly(request: SendableRequest): void {
    const flight = run(request)
      .catch((error: unknown) => log.warn({ err: error, batch: request.batchId }, "failed to send a request of a batch"))
      .finally(() => {
        flying.delete(request);
        wakeUp.wake();
      });
    flying.set(request, flight);
  }

  async function run(request: SendableRequest): Promise<void> {
    const { batchId, number, earlierRequestId: earlier } = request;
    // The ledger settles an id once: whoever has paid for an answer that was lost, or will, does not pay for the next one under the
    // same id. After a free failure it would not be charged at all.
    const requestId = earlier === null || (await isFree(database, earlier)) ? uuidv7() : earlier;
    const sent = { holder, batchId, number, requestId };
    if (!(await noteSent(database, sent))) return;
    if (request.attempts >= MAX_ATTEMPTS) return conclude(request, sent, failureOf(request, LOST));
    await conclude(request, sent, await ask(request, requestId));
  }

  /** @returns "unsent" if this process cannot send it, which says nothing about others. */
  async function ask(request: SendableRequest, requestId: string): Promise<Verdict | "unknown" | "unsent"> {
    const { keyId, betas, batchId, number, attempts } = request;
    try {
      const answer = await post({
        target,
        agent,
        path: CLIENT_PATHS[request.interface],
        headers: {
          authorization: `Bearer ${tickets.issue({ keyId, requestId }, Date.now())}`,
          "content-type": "application/json",
          "user-agent": "model-gateway-batches",
          ...(betas === null ? {} : { "anthropic-beta": betas }),
        },
        body: content.openBody({ batchId, number }, request.body),
        signal: ending.signal,
      });
      return judge(request, answer, attempts + 1 >= MAX_ATTEMPTS);
    } catch (error) {
      // The Envoy of this process starts, stops or is broken.
      if (["ECONNREFUSED", "ENOENT"].includes(errorCode(error) ?? "")) return "unsent";
      log.info({ err: error, batch: batchId }, "a request of a batch got no answer");
      return "unknown";
    }
  }

  async function conclude(request: SendableRequest, sent: SentRequest, verdict: Verdict | "unknown" | "unsent"): Promise<void> {
    const { batchId } = request;
    if (verdict === "unsent") {
      restsUntilMs = performance.now() + RESTS_MS;
      return write(() => returnRequest(database, sent));
    }
    if (verdict === "unknown") return write(() => postponeRequest(database, { ...sent, isRefused: false, delayMs: 1_000 }));
    switch (verdict.kind) {
      case "done":
        creditRefusals.delete(batchId);
        refusals.answered(batchId);
        return finish(request, sent, verdict);
      case "failed":
        return write(() => postponeRequest(database, { ...sent, isRefused: false, delayMs: verdict.delayMs }));
      case "refused": {
        const delayMs = verdict.by === "load" ? refusals.add(request, verdict.delayMs) : verdict.delayMs;
        if (verdict.by === "credit" && (await isOutOfCredit(request)))
          await write(() => stopBatch(database, batchId, "insufficient_balance"));
        return write(() => postponeRequest(database, { ...sent, isRefused: true, delayMs }));
      }
    }
  }

  async function isOutOfCredit({ batchId, accountId }: SendableRequest): Promise<boolean> {
    if (!(await fliesAlone(database, accountId))) return false;
    const count = (creditRefusals.get(batchId) ?? 0) + 1;
    setNewest(creditRefusals, batchId, count);
    if (count < MAX_CREDIT_REFUSALS) return false;
    creditRefusals.delete(batchId);
    return true;
  }

  async function finish(request: SendableRequest, sent: SentRequest, verdict: Verdict & { kind: "done" }): Promise<void> {
    const { status, body, outcome, chargeNanoUsd } = verdict;
    const plain = Buffer.from(answerLine(request, { status, requestId: sent.requestId, body }));
    const result = content.sealResult(request, plain);
    const finished = { ...sent, outcome, result, resultBytes: plain.length, chargeNanoUsd };
    await write(async () => void (await finishRequest(database, finished)));
  }

  /** An answer is kept in memory until the database has it: otherwise the request would be sent again. */
  async function write(work: () => Promise<void>): Promise<void> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await work();
      } catch (error) {
        if (ending.signal.aborted) throw error;
        if (attempt === 1) log.warn({ err: error }, "failed to write the result of a request of a batch; retrying");
        await pause(backOffMs(WRITES_AGAIN, attempt, Math.random()), ending.signal);
      }
    }
  }

  async function loop(): Promise<void> {
    while (!stopping.signal.aborted) {
      await look().catch((error: unknown) => log.warn({ err: error }, "failed to look for requests of batches; retrying"));
      await wakeUp.wait(LOOKS_EVERY_MS, stopping.signal);
    }
  }

  async function keep(): Promise<void> {
    if (flying.size > 0) await keepRequests(database, { holder, requests: [...flying.keys()] });
  }

  const keeping = startRounds(keep, {
    everyMs: (SENT_SECONDS * 1000) / 3,
    onFailure: (error) => log.warn({ err: error }, "failed to keep the requests of batches; retrying"),
  });
  const ended = loop();

  return {
    async stop(withinMs) {
      stopping.abort();
      await ended;
      await pauseUntil(Promise.all(flying.values()), withinMs);
      ending.abort();
      await Promise.all(flying.values());
      await keeping.stop();
      agent.destroy();
      await releaseRequests(database, holder).catch(() => {});
    },
  };
}

async function pauseUntil(done: Promise<unknown>, withinMs: number): Promise<void> {
  const waiting = new AbortController();
  const over = done.then(() => waiting.abort());
  await Promise.race([over, pause(withinMs, waiting.signal)]);
}
