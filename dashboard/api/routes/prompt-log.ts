import * as z from "zod";
import { createPromptSealer, type RecordedText } from "../../../ledger/prompt-log/content.ts";
import { listRecords, type ListedRecord } from "../../../ledger/prompt-log/records.ts";
import type { AppDeps } from "../../app-deps.ts";
import { createKeyActions } from "../../keys/key-actions.ts";
import { deletePrompt, deletePromptsOfKey, readPrompt } from "../../prompt-log/prompt-log-actions.ts";
import { callerOf } from "../caller.ts";
import { encodeCursor, readIdCursor } from "../cursor.ts";
import type { Api } from "../provider.ts";
import { failures } from "../schemas/error.ts";
import { keyId, moment, nextCursor, pageQuery, showMoment } from "../schemas/values.ts";

const tags = ["Prompt log"];
const params = z.object({ request_id: z.uuid("Must be the ID of a request.") });
const keyParams = z.object({ id: keyId });

const listed = {
  request_id: z.uuid(),
  key_id: keyId,
  started_at: moment,
  expires_at: moment.meta({ description: "Then it is deleted" }),
  interface: z.string(),
  model: z.string().nullable().meta({ description: "null: the request was refused before its model was known" }),
  is_stream: z.boolean(),
  status: z.int().nullable().meta({ description: "null: the client left before it was answered" }),
  is_complete: z.boolean().meta({ description: "The client got the answer to its end" }),
  request_bytes: z.int().meta({ description: "As it was sent; the record may have less" }),
  answer_bytes: z.int(),
};
const record = z.object(listed).meta({ id: "PromptRecord" });
const text = z.object({
  text: z.string().meta({
    description:
      "As it was sent, a stream with its events; notes replace images, audio and files, and U+FFFD replaces invalid UTF-8",
  }),
  is_truncated: z.boolean().meta({ description: "Its end was not recorded" }),
});
const recordWithContent = z.object({ ...listed, request: text, answer: text.nullable() }).meta({ id: "PromptRecordWithContent" });

/** Recorded prompts of keys with a prompt log (docs/prompt-log.md). */
export function promptLogApi(api: Api, { database, pepper }: AppDeps): void {
  const sealer = createPromptSealer(pepper);
  const keys = createKeyActions({ database, pepper, modelsField: "allowed_models", projectField: "project_id" });

  api.get(
    "/prompt-log",
    {
      schema: {
        tags,
        summary: "List recorded prompts, newest first",
        description: "Without their contents. Requires the owner role.",
        querystring: z.strictObject({ key: keyId.optional(), ...pageQuery }),
        response: { 200: z.object({ data: z.array(record), next_cursor: nextCursor }), ...failures },
      },
    },
    async (request) => {
      const { accountId } = callerOf(request, "managePromptLog");
      const { key, limit, cursor } = request.query;
      const after = cursor === undefined ? undefined : readIdCursor(cursor);
      const { records, next } = await listRecords(database, { accountId, keyId: key, limit, after });
      return { data: records.map(showRecord), next_cursor: next === null ? null : encodeCursor(next) };
    },
  );

  api.get(
    "/prompt-log/:request_id",
    {
      schema: {
        tags,
        summary: "Get a recorded prompt and its answer",
        description: "The audit log records who read it. Requires the owner role.",
        params,
        response: { 200: recordWithContent, ...failures },
      },
    },
    async (request) => {
      const caller = callerOf(request, "managePromptLog");
      const found = await readPrompt(database, sealer, { ...caller, requestId: request.params.request_id });
      const { request: sent, answer } = found.content;
      return { ...showRecord(found), request: showText(sent), answer: answer && showText(answer) };
    },
  );

  api.delete(
    "/prompt-log/:request_id",
    {
      schema: {
        tags,
        summary: "Delete a recorded prompt and its answer",
        description: "Requires the owner role.",
        params,
        response: { 204: z.null().meta({ description: "Deleted." }), ...failures },
      },
    },
    async (request, reply) => {
      const caller = callerOf(request, "managePromptLog");
      await deletePrompt(database, { ...caller, requestId: request.params.request_id });
      return reply.status(204).send(null);
    },
  );

  api.delete(
    "/keys/:id/prompt-log",
    {
      schema: {
        tags,
        summary: "Delete all recorded prompts of a key",
        description:
          "Of its requests so far. From then on nobody can read them, and they are erased within minutes. Requires the owner role.",
        params: keyParams,
        response: { 204: z.null().meta({ description: "Deleted." }), ...failures },
      },
    },
    async (request, reply) => {
      const caller = callerOf(request, "managePromptLog");
      const { publicId } = await keys.find(caller, request.params.id);
      await deletePromptsOfKey(database, { ...caller, keyId: publicId });
      return reply.status(204).send(null);
    },
  );
}

function showRecord(found: ListedRecord): z.infer<typeof record> {
  return {
    request_id: found.requestId,
    key_id: found.keyId,
    started_at: showMoment(found.startedAt),
    expires_at: showMoment(found.expiresAt),
    interface: found.interface,
    model: found.model,
    is_stream: found.isStream,
    status: found.status,
    is_complete: found.isWhole,
    request_bytes: found.requestBytes,
    answer_bytes: found.answerBytes,
  };
}

function showText({ text: recorded, isCut }: RecordedText): z.infer<typeof text> {
  return { text: recorded.toString("utf8"), is_truncated: isCut };
}
