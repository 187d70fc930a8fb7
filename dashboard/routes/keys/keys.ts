import type { FastifyInstance, FastifyRequest } from "fastify";
import * as z from "zod";
import { HOUR_MS } from "../../../contract/days.ts";
import { GatewayError } from "../../../contract/errors.ts";
import type { Queryable } from "../../../ledger/postgres/database.ts";
import { checkModelNames } from "../../../ledger/keys/key-bounds.ts";
import { findKey, KEY_ORDERS, searchKeys, type ListedKey } from "../../../ledger/keys/key-list.ts";
import { changeKey, disableKeys } from "../../../ledger/keys/key-settings.ts";
import { createApiKey, isPublicId, revokeApiKey, rotateApiKey } from "../../../ledger/keys/keys.ts";
import { setKeyLimits } from "../../../ledger/leases/limits.ts";
import { listModels } from "../../../ledger/models/model-list.ts";
import { admitChange, noteAction } from "../../../ledger/people/audit.ts";
import { checkFirstKey } from "../../../ledger/people/email-proof.ts";
import type { AppDeps } from "../../app-deps.ts";
import { EMPTY_FORM, readForm, submitForm } from "../../form.ts";
import { parseKeyForm, writeKeyForm } from "../../keys/key-form.ts";
import { goTo, sendPage } from "../../reply.ts";
import { memberOf } from "../../session/guard.ts";
import type { Member } from "../../session/visitor.ts";
import { keyFormPage } from "../../views/keys/key-form.ts";
import { keysPage } from "../../views/keys/keys.ts";
import { confirmKeyPage, keyValuePage } from "../../views/keys/key-value.ts";

type KeyRequest = FastifyRequest<{ Params: { publicId: string } }>;
const PAGE = 50;
/** Of the keys that an account may have, the last page. */
const MAX_PAGE = 300;
const listQuery = z.object({
  search: z
    .string()
    .trim()
    .max(100)
    .regex(/^[^\0]*$/)
    .default("")
    .catch(""),
  sort: z.enum(KEY_ORDERS).default("created").catch("created"),
  page: z.coerce.number().int().min(1).max(MAX_PAGE).default(1).catch(1),
});
/** How long a key's former value keeps working, in hours. */
const overlapSchema = z.enum(["0", "1", "24", "168"]).default("24").catch("24").transform(Number);

export function keyRoutes(app: FastifyInstance, { database, pepper, publicBaseUrl }: AppDeps): void {
  /** @throws GatewayError `not_found` for a key that is not the account's: whose it is stays untold. */
  async function keyOf(request: KeyRequest, { membership }: Member): Promise<ListedKey> {
    const { publicId } = request.params;
    // What cannot be an id may hold what Postgres takes in no text: a NUL.
    const key = isPublicId(publicId) ? await findKey(database, { accountId: membership.accountId, publicId }) : undefined;
    if (key === undefined) throw new GatewayError("not_found", "This account has no such key.");
    return key;
  }

  /** Does something with a key and notes who did it: both, or nothing. */
  async function change<Result extends { publicId: string }>(
    { membership, person }: Member,
    action: `key.${string}`,
    work: (transaction: Queryable) => Promise<Result>,
  ): Promise<Result> {
    return database.transaction(async (transaction) => {
      const result = await work(transaction);
      await noteAction(transaction, {
        accountId: membership.accountId,
        personId: person.id,
        action,
        subject: result.publicId,
      });
      return result;
    });
  }

  app.get("/dashboard/keys", async (request, reply) => {
    const visitor = memberOf(request);
    const { accountId } = visitor.membership;
    const { search, sort, page } = listQuery.parse(request.query ?? {});
    const asked = { accountId, search, order: sort, limit: PAGE, offset: (page - 1) * PAGE };
    return sendPage(reply, keysPage({ visitor, search, sort, page, ...(await searchKeys(database, asked)) }));
  });

  /** Stopping keys needs no leave: whoever wants to stop one can. */
  app.post("/dashboard/keys/disable", async (request, reply) => {
    const { membership, person } = memberOf(request, "manageKeys");
    const { accountId } = membership;
    const publicIds = (readForm(request)["keys"] ?? "").split(",").filter(isPublicId).slice(0, PAGE);
    const disabled = await database.transaction(async (transaction) => {
      const ids = await disableKeys(transaction, { accountId, publicIds });
      for (const subject of ids)
        await noteAction(transaction, { accountId, personId: person.id, action: "key.disabled", subject });
      return ids.length;
    });
    const words =
      publicIds.length === 0
        ? "Select the keys to disable first."
        : disabled === 1
          ? "1 key disabled."
          : `${disabled} keys disabled.`;
    return goTo(reply, "/dashboard/keys", words);
  });

  app.get("/dashboard/keys/new", async (request, reply) => {
    const visitor = memberOf(request, "manageKeys");
    return sendPage(reply, keyFormPage({ visitor, form: EMPTY_FORM, models: await listModels(database, Date.now()), key: null }));
  });

  app.post("/dashboard/keys/new", async (request, reply) => {
    const visitor = memberOf(request, "manageKeys");
    const values = readForm(request);
    let value = "";
    const failed = await submitForm(values, async () => {
      const { name, allowedModels, expiresAt, limits } = parseKeyForm(values);
      const { accountId } = visitor.membership;
      const created = await change(visitor, "key.created", async (transaction) => {
        await checkModelNames(transaction, allowedModels);
        await admitChange(transaction, "key", accountId);
        if (visitor.mustProveEmail) await checkFirstKey(transaction, accountId);
        const key = await createApiKey(transaction, {
          accountId,
          name,
          pepper,
          ...(expiresAt === null ? {} : { expiresAt }),
          ...(allowedModels === null ? {} : { allowedModels }),
        });
        await setKeyLimits(transaction, key.publicId, limits);
        return key;
      });
      value = created.value;
    });
    const models = await listModels(database, Date.now());
    if (failed !== undefined) return sendPage(reply, keyFormPage({ visitor, form: failed, models, key: null }), 400);
    return sendPage(reply, keyValuePage({ visitor, title: "Your new key", value, models, baseUrl: publicBaseUrl }));
  });

  app.get("/dashboard/keys/:publicId", async (request: KeyRequest, reply) => {
    const visitor = memberOf(request);
    const key = await keyOf(request, visitor);
    const form = { values: writeKeyForm(key), problems: {} };
    return sendPage(reply, keyFormPage({ visitor, form, models: await listModels(database, Date.now()), key }));
  });

  app.post("/dashboard/keys/:publicId", async (request: KeyRequest, reply) => {
    const visitor = memberOf(request, "manageKeys");
    const key = await keyOf(request, visitor);
    const values = readForm(request);
    const failed = await submitForm(values, async () => {
      const settings = parseKeyForm(values);
      await change(visitor, "key.changed", async (transaction) => {
        await checkModelNames(transaction, settings.allowedModels);
        await admitChange(transaction, "key", visitor.membership.accountId);
        await changeKey(transaction, { accountId: visitor.membership.accountId, publicId: key.publicId }, settings);
        return key;
      });
    });
    if (failed === undefined) return goTo(reply, "/dashboard/keys", "Key saved.");
    return sendPage(reply, keyFormPage({ visitor, form: failed, models: await listModels(database, Date.now()), key }), 400);
  });

  for (const [action, isDisabled] of [
    ["disable", true],
    ["enable", false],
  ] as const) {
    app.post(`/dashboard/keys/:publicId/${action}`, async (request: KeyRequest, reply) => {
      const visitor = memberOf(request, "manageKeys");
      const key = await keyOf(request, visitor);
      if ((key.status === "disabled") === isDisabled) return goTo(reply, "/dashboard/keys");
      await change(visitor, `key.${action}d`, async (transaction) => {
        if (!isDisabled) await admitChange(transaction, "key", visitor.membership.accountId);
        await changeKey(transaction, { accountId: visitor.membership.accountId, publicId: key.publicId }, { isDisabled });
        return key;
      });
      return goTo(reply, "/dashboard/keys", `Key “${key.name}” ${action}d.`);
    });
  }

  for (const action of ["rotate", "delete"] as const) {
    app.get(`/dashboard/keys/:publicId/${action}`, async (request: KeyRequest, reply) => {
      const visitor = memberOf(request, "manageKeys");
      return sendPage(reply, confirmKeyPage({ visitor, key: await keyOf(request, visitor), action }));
    });
  }

  app.post("/dashboard/keys/:publicId/rotate", async (request: KeyRequest, reply) => {
    const visitor = memberOf(request, "manageKeys");
    const { publicId } = await keyOf(request, visitor);
    const hours = overlapSchema.parse(readForm(request)["overlap"]);
    const previousUntil = hours === 0 ? null : new Date(Date.now() + hours * HOUR_MS);
    const { value } = await change(visitor, "key.rotated", async (transaction) => {
      await admitChange(transaction, "key", visitor.membership.accountId);
      return { publicId, ...(await rotateApiKey(transaction, { publicId, pepper, previousUntil })) };
    });
    const models = await listModels(database, Date.now());
    return sendPage(reply, keyValuePage({ visitor, title: "New value of the key", value, models, baseUrl: publicBaseUrl }));
  });

  app.post("/dashboard/keys/:publicId/delete", async (request: KeyRequest, reply) => {
    const visitor = memberOf(request, "manageKeys");
    const key = await keyOf(request, visitor);
    await change(visitor, "key.deleted", async (transaction) => {
      await revokeApiKey(transaction, key.publicId);
      return key;
    });
    return goTo(reply, "/dashboard/keys", `Key “${key.name}” deleted.`);
  });
}
