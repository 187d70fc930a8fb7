import { Readable } from "node:stream";
import type { FastifyInstance, FastifyRequest } from "fastify";
import * as z from "zod";
import { BATCH_BOUNDS } from "../../contract/batches.ts";
import { GatewayError } from "../../contract/errors.ts";
import {
  cancelBatch,
  createBatch,
  deleteBatch,
  findBatch,
  listBatches,
  noSuchBatch,
  roomOfBatch,
  type Batch,
} from "../../ledger/batches/batches.ts";
import { addRequests, bytesOfRequest, dropBatch, startBatch, type NewRequest } from "../../ledger/batches/requests.ts";
import { readResults } from "../../ledger/batches/results.ts";
import { readBody, tooLarge } from "./body-stream.ts";
import { batchCallerOf } from "./caller.ts";
import { checkBatchCredit } from "./credit.ts";
import type { BatchDeps } from "./deps.ts";
import { createElementStream } from "./element-stream.ts";
import { oneText, pageSize, readQuery } from "./query.ts";
import { readElement, RequestMistake } from "./read-request.ts";
import { describeMessageBatch } from "./shapes.ts";
import type { UploadTurn } from "./uploads.ts";
import { wholeBody } from "./whole-body.ts";

const MEBIBYTE = 1024 * 1024;
const MAX_BYTES = BATCH_BOUNDS.mebibytes * MEBIBYTE;
const WHAT = "A batch";
const ROWS_AT_ONCE = 500;

type BatchRequest = FastifyRequest<{ Params: { id: string } }>;

/** Anthropic's batches of messages. */
export function messageBatchRoutes(scope: FastifyInstance, deps: BatchDeps): void {
  const { database, content, publicBaseUrl } = deps;
  const describe = (batch: Batch) => describeMessageBatch(batch, publicBaseUrl);

  void scope.register(async (lists) => {
    lists.removeContentTypeParser("application/json");
    lists.addContentTypeParser("application/json", (_request, payload, done) => done(null, payload));
    lists.post("/messages/batches", { config: { isUpload: true } }, async (request) => {
      const { accountId } = batchCallerOf(request);
      await checkBatchCredit(deps, accountId);
      const turn = await deps.uploads.take(accountId);
      try {
        return describe(await batchOf(deps, accountId, await receiveBatch(deps, request, turn)));
      } finally {
        turn.end();
      }
    });
  });

  scope.get("/messages/batches", async (request) => {
    const { after_id, before_id, limit } = readQuery(request.query, listQuery);
    const range = { kind: "msgbatch", afterId: after_id, beforeId: before_id, limit: limit + 1 } as const;
    const batches = await listBatches(database, batchCallerOf(request).accountId, range);
    // Before a batch, the further one is at the beginning.
    const page = before_id === undefined ? batches.slice(0, limit) : batches.slice(-limit);
    const data = page.map(describe);
    return { data, has_more: batches.length > limit, first_id: data.at(0)?.id ?? null, last_id: data.at(-1)?.id ?? null };
  });

  scope.get("/messages/batches/:id", async (request: BatchRequest) =>
    describe(await batchOf(deps, batchCallerOf(request).accountId, request.params.id)),
  );

  scope.get("/messages/batches/:id/results", { config: { isDownload: true } }, async (request: BatchRequest, reply) => {
    const { id, state, outputBytes, errorBytes } = await batchOf(deps, batchCallerOf(request).accountId, request.params.id);
    if (state !== "ended")
      throw new GatewayError(
        "invalid_request",
        "This batch has not ended yet. Its results are available once `processing_status` is `ended`.",
      );
    return reply
      .type("application/x-jsonl")
      .send(wholeBody(readResults(database, { batchId: id, part: "all", content }), outputBytes + errorBytes));
  });

  scope.post("/messages/batches/:id/cancel", async (request: BatchRequest) => {
    const { accountId } = batchCallerOf(request);
    return describe(await cancelBatch(database, { accountId, id: request.params.id, kind: "msgbatch" }));
  });

  scope.delete("/messages/batches/:id", async (request: BatchRequest) => {
    const { id } = request.params;
    await deleteBatch(database, { accountId: batchCallerOf(request).accountId, id, kind: "msgbatch" });
    return { id, type: "message_batch_deleted" };
  });
}

const listQuery = z.object({
  after_id: oneText,
  before_id: oneText,
  limit: pageSize({ max: 1_000, standard: 20 }),
});

async function batchOf({ database }: BatchDeps, accountId: string, id: string): Promise<Batch> {
  const batch = await findBatch(database, { accountId, id, kind: "msgbatch" });
  if (batch === undefined) throw noSuchBatch();
  return batch;
}

/** @returns the id of a batch that runs. @throws GatewayError for a list with mistakes; nothing of it stays then. */
async function receiveBatch(
  { database, content, room, checkCallerAgain }: BatchDeps,
  request: FastifyRequest,
  turn: UploadTurn,
): Promise<string> {
  const { accountId, keyId } = batchCallerOf(request);
  const declared = Number(request.headers["content-length"] ?? MAX_BYTES);
  if (declared > MAX_BYTES) throw tooLarge(MAX_BYTES, WHAT);
  if (!(request.body instanceof Readable))
    throw new GatewayError("invalid_request", "The body must be JSON, with the content type application/json.");
  const batchId = await createBatch(database, {
    accountId,
    keyId,
    kind: "msgbatch",
    interface: "messages",
    betas: betasOf(request),
    bytes: declared,
    room,
  });
  try {
    const elements = createElementStream({ maxElementBytes: BATCH_BOUNDS.requestMebibytes * MEBIBYTE });
    const arrival = createArrival(async (requests) => addRequests(database, { batchId, requests, content }));
    for await (const piece of readBody(request.body, { maxBytes: MAX_BYTES, what: WHAT, turn }))
      for (const element of elements.push(piece)) await arrival.add(element);
    elements.end();
    const arrived = await arrival.end();
    await checkCallerAgain(request);
    await room.giveBack(roomOfBatch(declared) - arrived.bytes, async () => startBatch(database, { batchId, ...arrived }));
    return batchId;
  } catch (error) {
    await room.giveBack(roomOfBatch(declared), async () => dropBatch(database, batchId));
    throw error;
  }
}

/** Each request is sent with them; extproc decides which of them reach a model server. */
function betasOf({ headers }: FastifyRequest): string | null {
  const betas = headers["anthropic-beta"];
  if (betas === undefined || typeof betas !== "string") return null;
  if (!/^[\w.,: -]{0,1024}$/.test(betas))
    throw new GatewayError("invalid_request", "The header `anthropic-beta` must be a list of at most 1,024 characters.", {
      field: "anthropic-beta",
    });
  return betas;
}

function createArrival(write: (requests: NewRequest[]) => Promise<string[]>) {
  let waiting: NewRequest[] = [];
  let waitingBytes = 0;
  let requests = 0;
  let bytes = 0;

  async function flush(): Promise<void> {
    const arrived = waiting;
    waiting = [];
    waitingBytes = 0;
    if (arrived.length === 0) return;
    const [repeated] = await write(arrived);
    if (repeated !== undefined)
      throw new GatewayError("invalid_request", `The custom_id ${JSON.stringify(repeated)} is used more than once.`, {
        field: "requests",
      });
  }

  return {
    async add(element: Buffer): Promise<void> {
      if (requests === BATCH_BOUNDS.requests)
        throw new GatewayError("invalid_request", `A batch may have at most ${BATCH_BOUNDS.requests} requests.`, {
          field: "requests",
        });
      const read = readAt(element, requests++);
      waiting.push({ number: requests, ...read });
      waitingBytes += read.body.length;
      bytes += bytesOfRequest(read);
      if (waiting.length >= ROWS_AT_ONCE || waitingBytes >= MEBIBYTE) await flush();
    },
    async end(): Promise<{ requests: number; bytes: number }> {
      if (requests === 0)
        throw new GatewayError("invalid_request", "`requests` must have at least one request.", { field: "requests" });
      await flush();
      return { requests, bytes };
    },
  };
}

function readAt(element: Buffer, index: number) {
  try {
    return readElement(element);
  } catch (thrown) {
    if (!(thrown instanceof RequestMistake)) throw thrown;
    const field = `requests[${index}]${thrown.field === "" ? "" : `.${thrown.field}`}`;
    throw new GatewayError("invalid_request", `\`${field}\` ${thrown.message}.`, { field, cause: thrown });
  }
}
