import type { FastifyInstance, FastifyRequest } from "fastify";
import * as z from "zod";
import { cancelBatch, findBatch, listBatches, noSuchBatch, type Batch } from "../../../ledger/batches/batches.ts";
import { createBatchContent } from "../../../ledger/batches/content.ts";
import { readResults } from "../../../ledger/batches/results.ts";
import { readKeyNames } from "../../../ledger/keys/key-list.ts";
import { lockForChange } from "../../../ledger/people/actor.ts";
import { noteAction } from "../../../ledger/people/audit.ts";
import { cutPage } from "../../../ledger/postgres/page.ts";
import type { AppDeps } from "../../app-deps.ts";
import { wholeBody } from "../../batches/whole-body.ts";
import { goTo, sendPage } from "../../http/reply.ts";
import { memberOf } from "../../session/guard.ts";
import type { Member } from "../../session/visitor.ts";
import { batchesPage, BATCHES_PATH, batchPage, confirmCancelPage } from "../../views/batches/batches.ts";

type BatchRequest = FastifyRequest<{ Params: { id: string } }>;

const PAGE = 50;
const pageQuery = z.object({
  after: z
    .string()
    .regex(/^(batch|msgbatch)_[0-9a-f]{32}$/)
    .optional()
    .catch(undefined),
});

/** Batches of the account, of both interfaces (S58). */
export function batchPageRoutes(app: FastifyInstance, { database, pepper }: AppDeps): void {
  const content = createBatchContent(pepper);

  async function find({ membership: { accountId } }: Member, { params: { id } }: BatchRequest): Promise<Batch> {
    const batch = await findBatch(database, { accountId, id, kind: "any" });
    if (batch === undefined) throw noSuchBatch();
    return batch;
  }
  const namesOf = ({ membership: { accountId } }: Member, batches: readonly Batch[]) =>
    readKeyNames(database, { accountId, publicIds: batches.map(({ keyId }) => keyId) });

  app.get(BATCHES_PATH, async (request, reply) => {
    const visitor = memberOf(request);
    const { after } = pageQuery.parse(request.query ?? {});
    const range = { kind: "any", afterId: after, limit: PAGE + 1 } as const;
    const { page, next } = cutPage(await listBatches(database, visitor.membership.accountId, range), PAGE, ({ id }) => id);
    return sendPage(reply, batchesPage({ visitor, batches: page, next, keys: await namesOf(visitor, page) }));
  });

  app.get(`${BATCHES_PATH}/:id`, async (request: BatchRequest, reply) => {
    const visitor = memberOf(request);
    const batch = await find(visitor, request);
    return sendPage(reply, batchPage({ visitor, batch, keys: await namesOf(visitor, [batch]) }));
  });

  app.get(`${BATCHES_PATH}/:id/cancel`, async (request: BatchRequest, reply) => {
    const visitor = memberOf(request, "manageBatches");
    return sendPage(reply, confirmCancelPage({ visitor, batch: await find(visitor, request) }));
  });

  app.post(`${BATCHES_PATH}/:id/cancel`, async (request: BatchRequest, reply) => {
    const visitor = memberOf(request, "manageBatches");
    const { person, membership } = visitor;
    const { id, state: before } = await find(visitor, request);
    await database.transaction(async (transaction) => {
      await lockForChange(transaction, { accountId: membership.accountId, personId: person.id }, "manageBatches");
      const { state } = await cancelBatch(transaction, { accountId: membership.accountId, id, kind: "any" });
      // One that was ending already is not canceled again, while its last requests are answered.
      if (state === before) return;
      const note = { accountId: membership.accountId, personId: person.id, action: "batch.canceled", subject: id } as const;
      await noteAction(transaction, note);
    });
    return goTo(reply, `${BATCHES_PATH}/${id}`, "Batch canceled.");
  });

  for (const part of ["output", "error"] as const)
    app.get(`${BATCHES_PATH}/:id/${part}`, { config: { isDownload: true } }, async (request: BatchRequest, reply) => {
      const batch = await find(memberOf(request, "manageBatches"), request);
      const isThere = batch.state === "ended" && !(part === "output" ? batch.isOutputDeleted : batch.isErrorDeleted);
      if (!isThere) throw noSuchBatch();
      const results = readResults(database, { batchId: batch.id, part, content });
      return reply
        .type("application/x-ndjson")
        .header("content-disposition", `attachment; filename="${batch.id}_${part}.jsonl"`)
        .send(wholeBody(results, part === "output" ? batch.outputBytes : batch.errorBytes));
    });
}
