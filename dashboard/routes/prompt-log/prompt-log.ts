import type { FastifyInstance, FastifyRequest } from "fastify";
import * as z from "zod";
import { isPublicId } from "../../../ledger/keys/keys.ts";
import { createPromptSealer } from "../../../ledger/prompt-log/content.ts";
import { hasRecord, listRecords, noSuchRecord } from "../../../ledger/prompt-log/records.ts";
import { isRequestId } from "../../../ledger/usage/request-id-time.ts";
import { readRequest } from "../../../ledger/usage/request-list.ts";
import type { AppDeps } from "../../app-deps.ts";
import { goTo, sendPage } from "../../http/reply.ts";
import { createKeyActions } from "../../keys/key-actions.ts";
import { listKeyChoices } from "../../keys/key-choices.ts";
import { deletePrompt, deletePromptsOfKey, readPrompt, type PromptLogActor } from "../../prompt-log/prompt-log-actions.ts";
import { hasPromptLog } from "../../prompt-log/service-switch.ts";
import { memberOf } from "../../session/guard.ts";
import type { Member } from "../../session/visitor.ts";
import { confirmDeletePromptsPage } from "../../views/keys/prompt-log.ts";
import { confirmDeletePromptPage, PROMPT_LOG_PATH, promptLogPage, promptPage } from "../../views/prompt-log/prompt-log.ts";

type PromptRequest = FastifyRequest<{ Params: { requestId: string } }>;
type KeyRequest = FastifyRequest<{ Params: { publicId: string } }>;

const PAGE = 50;
const listQuery = z.object({
  key: z.string().refine(isPublicId).optional().catch(undefined),
  after: z
    .string()
    .refine((text) => isRequestId(text, Date.now()))
    .optional()
    .catch(undefined),
});

/** What keys with a prompt log have recorded (S60). */
export function promptLogRoutes(app: FastifyInstance, deps: AppDeps): void {
  const { database, pepper } = deps;
  const sealer = createPromptSealer(pepper);
  const keys = createKeyActions({ database, pepper, modelsField: "models", projectField: "project" });

  app.get(PROMPT_LOG_PATH, async (request, reply) => {
    const visitor = memberOf(request, "managePromptLog");
    const { accountId } = visitor.membership;
    const { key: keyId, after } = listQuery.parse(request.query ?? {});
    const [{ records, next }, names] = await Promise.all([
      listRecords(database, { accountId, keyId, limit: PAGE, after }),
      listKeyChoices(database, accountId, keyId),
    ]);
    return sendPage(reply, promptLogPage({ visitor, records, next, keys: names, keyId, hasPromptLog: hasPromptLog(deps) }));
  });

  app.get(`${PROMPT_LOG_PATH}/:requestId`, async (request: PromptRequest, reply) => {
    const visitor = memberOf(request, "managePromptLog");
    const { requestId } = request.params;
    const { accountId } = visitor.membership;
    const record = await readPrompt(database, sealer, { ...actorOf(visitor), requestId });
    const attempts = await readRequest(database, { accountId, requestId });
    return sendPage(reply, promptPage({ visitor, record, isListed: attempts.length > 0 }));
  });

  for (const part of ["request", "answer"] as const)
    app.get(`${PROMPT_LOG_PATH}/:requestId/${part}`, { config: { isDownload: true } }, async (request: PromptRequest, reply) => {
      const visitor = memberOf(request, "managePromptLog");
      const { requestId } = request.params;
      const { content } = await readPrompt(database, sealer, { ...actorOf(visitor), requestId });
      const found = content[part];
      if (found === null) throw noSuchRecord();
      return reply
        .type("text/plain; charset=utf-8")
        .header("content-disposition", `attachment; filename="${requestId}-${part}.txt"`)
        .send(found.text);
    });

  app.get(`${PROMPT_LOG_PATH}/:requestId/delete`, async (request: PromptRequest, reply) => {
    const visitor = memberOf(request, "managePromptLog");
    const { requestId } = request.params;
    const record = { accountId: visitor.membership.accountId, requestId };
    if (!isRequestId(requestId, Date.now()) || !(await hasRecord(database, record))) throw noSuchRecord();
    return sendPage(reply, confirmDeletePromptPage({ visitor, requestId }));
  });

  app.post(`${PROMPT_LOG_PATH}/:requestId/delete`, async (request: PromptRequest, reply) => {
    const visitor = memberOf(request, "managePromptLog");
    await deletePrompt(database, { ...actorOf(visitor), requestId: request.params.requestId });
    return goTo(reply, PROMPT_LOG_PATH, "Record deleted.");
  });

  app.get("/dashboard/keys/:publicId/prompt-log/delete", async (request: KeyRequest, reply) => {
    const visitor = memberOf(request, "managePromptLog");
    return sendPage(reply, confirmDeletePromptsPage({ visitor, key: await findKey(visitor, request) }));
  });

  app.post("/dashboard/keys/:publicId/prompt-log/delete", async (request: KeyRequest, reply) => {
    const visitor = memberOf(request, "managePromptLog");
    const { publicId: keyId, name } = await findKey(visitor, request);
    await deletePromptsOfKey(database, { ...actorOf(visitor), keyId });
    return goTo(reply, `/dashboard/keys/${keyId}`, `All recorded prompts of “${name}” deleted.`);
  });

  function findKey(visitor: Member, { params }: KeyRequest) {
    return keys.find({ ...actorOf(visitor), mustProveEmail: visitor.mustProveEmail }, params.publicId);
  }
}

function actorOf({ membership, person }: Member): PromptLogActor {
  return { accountId: membership.accountId, personId: person.id, tokenId: null };
}
