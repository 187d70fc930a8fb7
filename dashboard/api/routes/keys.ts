import type { FastifyRequest } from "fastify";
import * as z from "zod";
import { listKeys } from "../../../ledger/keys/key-list.ts";
import type { AppDeps } from "../../app-deps.ts";
import { createKeyActions } from "../../keys/key-actions.ts";
import { checkPromptLog } from "../../prompt-log/service-switch.ts";
import { callerOf } from "../caller.ts";
import { encodeCursor, readKeyCursor } from "../cursor.ts";
import type { Api } from "../provider.ts";
import { failures } from "../schemas/error.ts";
import { key, keyChange, keyWithValue, newKey, readKeyChange, readNewKey, rotation, showKey } from "../schemas/key.ts";
import { keyId, nextCursor, pageQuery, projectId } from "../schemas/values.ts";

const OVERLAP_HOURS = 24;
const tags = ["Keys"];
const params = z.object({ id: keyId });

export function keyApi(api: Api, deps: AppDeps): void {
  const { database, pepper } = deps;
  const keys = createKeyActions({ database, pepper, modelsField: "allowed_models", projectField: "project_id" });

  /** @throws GatewayError for what only owners may choose, or nobody. */
  function mayRecord(request: FastifyRequest, days: number | null | undefined): void {
    if (days === undefined) return;
    callerOf(request, "managePromptLog");
    checkPromptLog(deps, { days, field: "prompt_log_days" });
  }

  api.get(
    "/keys",
    {
      schema: {
        tags,
        summary: "List keys, newest first",
        description: "Deleted keys are not included.",
        querystring: z.strictObject({ project: projectId.optional(), ...pageQuery }),
        response: { 200: z.object({ data: z.array(key), next_cursor: nextCursor }), ...failures },
      },
    },
    async (request) => {
      const { accountId } = callerOf(request);
      const { project, limit, cursor } = request.query;
      const afterId = cursor === undefined ? undefined : readKeyCursor(cursor);
      const { keys: listed, next } = await listKeys(database, { accountId, limit, afterId, projectId: project });
      return { data: listed.map(showKey), next_cursor: next === null ? null : encodeCursor(next) };
    },
  );

  api.post(
    "/keys",
    {
      schema: {
        tags,
        summary: "Create a key",
        description: "Only this response contains the key's full value. Requires the member role.",
        body: newKey,
        response: { 201: keyWithValue, ...failures },
      },
    },
    async (request, reply) => {
      const caller = callerOf(request, "manageKeys");
      mayRecord(request, request.body.prompt_log_days ?? undefined);
      const made = await keys.create(caller, readNewKey(request.body));
      return reply.status(201).send({ ...showKey(made.key), value: made.value });
    },
  );

  api.get("/keys/:id", { schema: { tags, summary: "Get a key", params, response: { 200: key, ...failures } } }, async (request) =>
    showKey(await keys.find(callerOf(request), request.params.id)),
  );

  api.patch(
    "/keys/:id",
    {
      schema: {
        tags,
        summary: "Update a key",
        description: "Requires the member role.",
        params,
        body: keyChange,
        response: { 200: key, ...failures },
      },
    },
    async (request) => {
      const caller = callerOf(request, "manageKeys");
      mayRecord(request, request.body.prompt_log_days);
      return showKey(await keys.change(caller, request.params.id, readKeyChange(request.body)));
    },
  );

  api.post(
    "/keys/:id/rotate",
    {
      schema: {
        tags,
        summary: "Rotate a key",
        description: "Its ID, limits and usage stay. Only this response contains the new value. Requires the member role.",
        params,
        body: rotation,
        response: { 200: keyWithValue, ...failures },
      },
    },
    async (request) => {
      const caller = callerOf(request, "manageKeys");
      const overlapHours = request.body?.overlap_hours ?? OVERLAP_HOURS;
      const { key: rotated, value } = await keys.rotate(caller, request.params.id, { overlapHours });
      return { ...showKey(rotated), value };
    },
  );

  api.delete(
    "/keys/:id",
    {
      schema: {
        tags,
        summary: "Delete a key",
        description: "Requests with it are refused within a second. Requires the member role.",
        params,
        response: { 204: z.null().meta({ description: "Deleted." }), ...failures },
      },
    },
    async (request, reply) => {
      const caller = callerOf(request, "manageKeys");
      await keys.delete(caller, request.params.id);
      return reply.status(204).send(null);
    },
  );
}
