import * as z from "zod";
import { GatewayError } from "../../../contract/errors.ts";
import type { Queryable } from "../../../ledger/postgres/database.ts";
import { checkModelNames } from "../../../ledger/keys/key-bounds.ts";
import { findKey, listKeys, type ListedKey } from "../../../ledger/keys/key-list.ts";
import { changeKey } from "../../../ledger/keys/key-settings.ts";
import { createApiKey, revokeApiKey, rotateApiKey } from "../../../ledger/keys/keys.ts";
import { setKeyLimits } from "../../../ledger/leases/limits.ts";
import { admitChange, noteAction } from "../../../ledger/people/audit.ts";
import { checkFirstKey } from "../../../ledger/people/email-proof.ts";
import type { AppDeps } from "../../app-deps.ts";
import { callerOf, type Caller } from "../caller.ts";
import { encodeCursor, readKeyCursor } from "../cursor.ts";
import type { Api } from "../provider.ts";
import { failures } from "../schemas/error.ts";
import { key, keyChange, keyWithValue, newKey, readKeyChange, rotation, showKey } from "../schemas/key.ts";
import { readLimits } from "../schemas/limits.ts";
import { keyId, nextCursor, pageQuery } from "../schemas/values.ts";
import { HOUR_MS } from "../../../contract/days.ts";

const OVERLAP_HOURS = 24;
const tags = ["Keys"];
const params = z.object({ id: keyId });

export function keyApi(api: Api, { database, pepper }: AppDeps): void {
  /** @throws GatewayError `not_found` for a key that is not the account's: whose it is stays untold. */
  async function keyOf({ accountId }: Caller, publicId: string, queryable: Queryable = database): Promise<ListedKey> {
    const found = await findKey(queryable, { accountId, publicId });
    if (found === undefined) throw new GatewayError("not_found", "This account has no such key.", { field: "id" });
    return found;
  }

  async function note(transaction: Queryable, caller: Caller, action: `key.${string}`, subject: string): Promise<void> {
    await noteAction(transaction, { ...caller, action, subject });
  }

  /** Does the change only disable a key that is in use? That always works. */
  async function isStop(
    transaction: Queryable,
    caller: Caller,
    { params: { id }, body }: { params: { id: string }; body: z.infer<typeof keyChange> },
  ): Promise<boolean> {
    const isOnlyDisabled = body.disabled === true && Object.keys(body).length === 1;
    return isOnlyDisabled && (await keyOf(caller, id, transaction)).status !== "disabled";
  }

  api.get(
    "/keys",
    {
      schema: {
        tags,
        summary: "List keys, newest first",
        description: "Deleted keys are not included.",
        querystring: z.strictObject(pageQuery),
        response: { 200: z.object({ data: z.array(key), next_cursor: nextCursor }), ...failures },
      },
    },
    async (request) => {
      const { accountId } = callerOf(request);
      const { limit, cursor } = request.query;
      const afterId = cursor === undefined ? undefined : readKeyCursor(cursor);
      const { keys, next } = await listKeys(database, { accountId, limit, afterId });
      return { data: keys.map(showKey), next_cursor: next === null ? null : encodeCursor(next) };
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
      const { name, allowed_models: allowedModels, expires_at: expiresAt, limits } = request.body;
      const made = await database.transaction(async (transaction) => {
        await checkModels(transaction, allowedModels);
        await admitChange(transaction, "key", caller.accountId);
        if (caller.mustProveEmail) await checkFirstKey(transaction, caller.accountId);
        const { publicId, value } = await createApiKey(transaction, {
          accountId: caller.accountId,
          name,
          pepper,
          ...(allowedModels === undefined || allowedModels === null ? {} : { allowedModels }),
          ...(expiresAt === undefined || expiresAt === null ? {} : { expiresAt: new Date(expiresAt) }),
        });
        if (limits !== undefined) await setKeyLimits(transaction, publicId, readLimits(limits));
        await note(transaction, caller, "key.created", publicId);
        return { ...showKey(await keyOf(caller, publicId, transaction)), value };
      });
      return reply.status(201).send(made);
    },
  );

  api.get("/keys/:id", { schema: { tags, summary: "Get a key", params, response: { 200: key, ...failures } } }, async (request) =>
    showKey(await keyOf(callerOf(request), request.params.id)),
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
      const { id: publicId } = request.params;
      return database.transaction(async (transaction) => {
        await checkModels(transaction, request.body.allowed_models);
        if (!(await isStop(transaction, caller, request))) await admitChange(transaction, "key", caller.accountId);
        await changeKey(transaction, { accountId: caller.accountId, publicId }, readKeyChange(request.body));
        await note(transaction, caller, "key.changed", publicId);
        return showKey(await keyOf(caller, publicId, transaction));
      });
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
      const { publicId } = await keyOf(caller, request.params.id);
      const hours = request.body?.overlap_hours ?? OVERLAP_HOURS;
      const previousUntil = hours === 0 ? null : new Date(Date.now() + hours * HOUR_MS);
      return database.transaction(async (transaction) => {
        await admitChange(transaction, "key", caller.accountId);
        const { value } = await rotateApiKey(transaction, { publicId, pepper, previousUntil });
        await note(transaction, caller, "key.rotated", publicId);
        return { ...showKey(await keyOf(caller, publicId, transaction)), value };
      });
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
      const { publicId } = await keyOf(caller, request.params.id);
      await database.transaction(async (transaction) => {
        await revokeApiKey(transaction, publicId);
        await note(transaction, caller, "key.deleted", publicId);
      });
      return reply.status(204).send(null);
    },
  );
}

/** @throws GatewayError `invalid_request` with the field's name in this API. */
async function checkModels(transaction: Queryable, names: readonly string[] | null | undefined): Promise<void> {
  await checkModelNames(transaction, names ?? null, "allowed_models");
}
