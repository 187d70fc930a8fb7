import type { FastifyInstance, FastifyRequest } from "fastify";
import * as z from "zod";
import { GatewayError } from "../../contract/errors.ts";
import { CLIENT_PATHS } from "../../contract/protocol.ts";
import { BATCH_INTERFACES } from "../../contract/batches.ts";
import { cancelBatch, createBatch, findBatch, listBatches, noSuchBatch, type Batch } from "../../ledger/batches/batches.ts";
import { findFile, noSuchFile } from "../../ledger/batches/files.ts";
import { batchCallerOf } from "./caller.ts";
import { checkBatchCredit } from "./credit.ts";
import type { BatchDeps } from "./deps.ts";
import { expiresAfter } from "./expires-after.ts";
import { oneText, pageSize, readJson, readQuery } from "./query.ts";
import { describeBatch } from "./shapes.ts";

type BatchRequest = FastifyRequest<{ Params: { id: string } }>;

const OF_FILES = BATCH_INTERFACES.filter((each) => each !== "messages");
const ENDPOINT_CLAIM = `must be one of ${OF_FILES.map((each) => CLIENT_PATHS[each]).join(", ")}`;

const newBatch = z.object(
  {
    input_file_id: z.string("must be the id of an uploaded file"),
    endpoint: z.string(ENDPOINT_CLAIM).transform((path, { addIssue }) => {
      const found = OF_FILES.find((each) => CLIENT_PATHS[each] === path);
      if (found !== undefined) return found;
      addIssue({ code: "custom", message: ENDPOINT_CLAIM });
      return z.NEVER;
    }),
    completion_window: z.literal("24h", "must be 24h"),
    metadata: z
      .record(
        z.string().max(64, "must have names of at most 64 characters"),
        z.string("must have strings as values").max(512, "must have values of at most 512 characters"),
        "must be an object with strings as values",
      )
      .refine((metadata) => Object.keys(metadata).length <= 16, "must have at most 16 entries")
      .refine((metadata) => Object.entries(metadata).flat().every(isStorable), "must be valid text without NUL")
      .nullish(),
    output_expires_after: expiresAfter.nullish(),
  },
  "must be a JSON object",
);

/** Postgres takes neither a NUL nor half of a surrogate pair. */
function isStorable(text: string): boolean {
  return !text.includes("\0") && text.isWellFormed();
}

/** OpenAI's batches. */
export function batchRoutes(scope: FastifyInstance, deps: BatchDeps): void {
  const { database, room } = deps;
  scope.post("/batches", async (request) => {
    const { accountId, keyId } = batchCallerOf(request);
    await checkBatchCredit(deps, accountId);
    const { input_file_id, endpoint, metadata, output_expires_after } = readJson(request.body, newBatch);
    const file = await findFile(database, accountId, input_file_id);
    if (file === undefined) throw noSuchFile("input_file_id");
    if (file.purpose !== "batch")
      throw new GatewayError("invalid_request", "`input_file_id` must be the id of a file uploaded with the purpose batch.", {
        field: "input_file_id",
      });
    const id = await createBatch(database, {
      accountId,
      keyId,
      kind: "batch",
      interface: endpoint,
      inputFileId: input_file_id,
      metadata: metadata ?? null,
      resultsKeptSeconds: output_expires_after ?? null,
      bytes: file.bytes,
      room,
    });
    return describeBatch(await batchOf(deps, accountId, id));
  });

  scope.get("/batches", async (request) => {
    const { after, limit } = readQuery(request.query, listQuery);
    const range = { kind: "batch", afterId: after, limit: limit + 1 } as const;
    const batches = await listBatches(database, batchCallerOf(request).accountId, range);
    const page = batches.slice(0, limit).map(describeBatch);
    const [first_id = null, last_id = null] = [page.at(0)?.id, page.at(-1)?.id];
    return { object: "list", data: page, first_id, last_id, has_more: batches.length > limit };
  });

  scope.get("/batches/:id", async (request: BatchRequest) =>
    describeBatch(await batchOf(deps, batchCallerOf(request).accountId, request.params.id)),
  );

  scope.post("/batches/:id/cancel", async (request: BatchRequest) => {
    const { accountId } = batchCallerOf(request);
    return describeBatch(await cancelBatch(database, { accountId, id: request.params.id, kind: "batch" }));
  });
}

const listQuery = z.object({
  after: oneText,
  limit: pageSize({ max: 100, standard: 20 }),
});

async function batchOf({ database }: BatchDeps, accountId: string, id: string): Promise<Batch> {
  const batch = await findBatch(database, { accountId, id, kind: "batch" });
  if (batch === undefined) throw noSuchBatch();
  return batch;
}
