import type { FastifyInstance, FastifyRequest } from "fastify";
import * as z from "zod";
import { GatewayError } from "../../../contract/errors.ts";
import { KEY_ORDERS, searchKeys, type ListedKey } from "../../../ledger/keys/key-list.ts";
import { isPublicId } from "../../../ledger/keys/keys.ts";
import { listModels, type ListedModel } from "../../../ledger/models/model-list.ts";
import { listRecords } from "../../../ledger/prompt-log/records.ts";
import { listProjectNames, type NamedProject } from "../../../ledger/projects/project-list.ts";
import { concernsProviderKeys } from "../../../ledger/provider-keys/offers.ts";
import { plainAddress } from "../../../runtime/ip-network.ts";
import type { AppDeps } from "../../app-deps.ts";
import { EMPTY_FORM, readForm, readQuery, submitForm } from "../../http/form.ts";
import { createKeyActions, type KeyActor, type NewKeySettings } from "../../keys/key-actions.ts";
import { parseKeyForm, writeKeyForm } from "../../keys/key-form.ts";
import { goTo, sendPage, turnAway } from "../../http/reply.ts";
import { listProjectChoices } from "../../projects/project-choices.ts";
import { checkPromptLog, hasPromptLog } from "../../prompt-log/service-switch.ts";
import { isAllowed } from "../../../ledger/people/permissions.ts";
import { memberOf } from "../../session/guard.ts";
import type { Member } from "../../session/visitor.ts";
import { keyFormPage } from "../../views/keys/key-form.ts";
import { KEYS_PAGE, keysPage } from "../../views/keys/keys.ts";
import { confirmDisablePage, confirmKeyPage, keyValueDialog } from "../../views/keys/key-value.ts";
import { counted } from "../../counted.ts";

type KeyRequest = FastifyRequest<{ Params: { publicId: string } }>;
const NONE_SELECTED = "Select at least one key to disable.";
/** The last page of the maximum number of keys. */
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
  project: z.uuid().optional().catch(undefined),
  page: z.coerce.number().int().min(1).max(MAX_PAGE).default(1).catch(1),
});
/** Keys selected in the list: one, several, or none. */
const selectionSchema = z.object({
  keys: z
    .union([z.string().transform((one) => [one]), z.array(z.string())])
    .catch([])
    .transform((ids) => ids.filter(isPublicId).slice(0, KEYS_PAGE)),
});
/** How long a key's previous value keeps working, in hours. */
const overlapSchema = z.enum(["0", "1", "24", "168"]).default("24").catch("24").transform(Number);

export function keyRoutes(app: FastifyInstance, deps: AppDeps): void {
  const { database, pepper, publicBaseUrl } = deps;
  const keys = createKeyActions({ database, pepper, modelsField: "models", projectField: "project" });

  app.get("/dashboard/keys", async (request, reply) => {
    const visitor = memberOf(request);
    const { accountId } = visitor.membership;
    const { search, sort, project, page } = listQuery.parse(request.query ?? {});
    const asked = { accountId, search, order: sort, projectId: project, limit: KEYS_PAGE, offset: (page - 1) * KEYS_PAGE };
    const [found, projects, takesProviderKeys] = await Promise.all([
      searchKeys(database, asked),
      listProjectChoices(database, accountId, project),
      concernsProviderKeys(database, accountId),
    ]);
    return sendPage(reply, keysPage({ visitor, search, sort, project, projects, page, takesProviderKeys, ...found }));
  });

  /** The value above the list that contains the key. */
  async function renderValue(visitor: Member, title: string, value: string): Promise<string> {
    const { accountId } = visitor.membership;
    const view = { search: "", sort: "created", page: 1 } as const;
    const [{ models, projects }, found] = await Promise.all([
      choices(visitor),
      searchKeys(database, { accountId, search: "", order: view.sort, limit: KEYS_PAGE, offset: 0 }),
    ]);
    const dialog = keyValueDialog({ title, value, models, baseUrl: publicBaseUrl });
    return keysPage({ visitor, ...view, project: undefined, projects, ...found, dialog });
  }

  app.get("/dashboard/keys/disable", async (request, reply) => {
    const visitor = memberOf(request, "manageKeys");
    const actor = actorOf(visitor);
    const publicIds = selectionSchema.parse(request.query ?? {}).keys;
    const found = await Promise.all(publicIds.map((publicId) => keys.find(actor, publicId)));
    if (found.length === 0) return turnAway(reply, "/dashboard/keys", NONE_SELECTED);
    return sendPage(reply, confirmDisablePage({ visitor, keys: found }));
  });

  app.post("/dashboard/keys/disable", async (request, reply) => {
    const actor = actorOf(memberOf(request, "manageKeys"));
    const publicIds = (readForm(request)["keys"] ?? "").split(",").filter(isPublicId).slice(0, KEYS_PAGE);
    if (publicIds.length === 0) return turnAway(reply, "/dashboard/keys", NONE_SELECTED);
    const disabled = await keys.disable(actor, publicIds);
    if (disabled === 0) return turnAway(reply, "/dashboard/keys", "The selected keys are already disabled or deleted.");
    return goTo(reply, "/dashboard/keys", `${counted(disabled, "key")} disabled.`);
  });

  /** What a form of a key offers. */
  async function choices({ membership }: Member): Promise<{ models: ListedModel[]; projects: NamedProject[] }> {
    const [models, projects] = await Promise.all([
      listModels(database, Date.now()),
      listProjectNames(database, membership.accountId),
    ]);
    return { models, projects };
  }

  /** @param key null for a new one. */
  async function formParts({ ip }: FastifyRequest, visitor: Member, key: ListedKey | null) {
    const { role, accountId } = visitor.membership;
    const isReader = key !== null && isAllowed(role, "managePromptLog");
    const mayRead = isReader && (key.promptLogDays !== null || (await hasRecords(accountId, key)));
    const address = plainAddress(ip) ?? ip;
    return { visitor, ...(await choices(visitor)), key, hasPromptLog: hasPromptLog(deps), mayRead, address };
  }

  async function hasRecords(accountId: string, { publicId: keyId }: ListedKey): Promise<boolean> {
    return (await listRecords(database, { accountId, keyId, limit: 1 })).records.length > 0;
  }

  /** @throws GatewayError `permission_denied` for a member who chooses what an owner may. */
  function readKeyForm(request: FastifyRequest): Record<string, string> {
    const values = readForm(request);
    if ("prompt_log" in values) memberOf(request, "managePromptLog");
    return values;
  }

  /** @throws ZodError or GatewayError with the field. */
  function readSettings(values: Record<string, string>, before: ListedKey | null): NewKeySettings {
    const settings = parseKeyForm(values);
    checkPromptLog(deps, { days: settings.promptLogDays, field: "prompt_log" });
    // A day that nobody changed stays what it was: it may be over, and the management API sets times of day.
    if (before !== null && values["expires"] === writeKeyForm(before)["expires"])
      return { ...settings, expiresAt: before.expiresAt };
    if (settings.expiresAt !== null && settings.expiresAt.getTime() <= Date.now())
      throw new GatewayError("invalid_request", "Choose today or a later day.", { field: "expires" });
    return settings;
  }

  app.get("/dashboard/keys/new", async (request, reply) => {
    const visitor = memberOf(request, "manageKeys");
    const form = { ...EMPTY_FORM, values: { project: readQuery(request, "project") } };
    return sendPage(reply, keyFormPage({ form, ...(await formParts(request, visitor, null)) }));
  });

  app.post("/dashboard/keys/new", async (request, reply) => {
    const visitor = memberOf(request, "manageKeys");
    const values = readKeyForm(request);
    let value = "";
    const failed = await submitForm(values, async () => {
      ({ value } = await keys.create(actorOf(visitor), readSettings(values, null)));
    });
    if (failed === undefined) return sendPage(reply, await renderValue(visitor, "Your new key", value));
    return sendPage(reply, keyFormPage({ form: failed, ...(await formParts(request, visitor, null)) }), 400);
  });

  app.get("/dashboard/keys/:publicId", async (request: KeyRequest, reply) => {
    const visitor = memberOf(request);
    const key = await keys.find(actorOf(visitor), request.params.publicId);
    const form = { values: writeKeyForm(key), problems: {} };
    return sendPage(reply, keyFormPage({ form, ...(await formParts(request, visitor, key)) }));
  });

  app.post("/dashboard/keys/:publicId", async (request: KeyRequest, reply) => {
    const visitor = memberOf(request, "manageKeys");
    const key = await keys.find(actorOf(visitor), request.params.publicId);
    const values = readKeyForm(request);
    const failed = await submitForm(values, async () => {
      await keys.change(actorOf(visitor), key.publicId, readSettings(values, key));
    });
    if (failed === undefined) return goTo(reply, "/dashboard/keys", "Key saved.");
    return sendPage(reply, keyFormPage({ form: failed, ...(await formParts(request, visitor, key)) }), 400);
  });

  for (const [action, isDisabled] of [
    ["disable", true],
    ["enable", false],
  ] as const) {
    app.post(`/dashboard/keys/:publicId/${action}`, async (request: KeyRequest, reply) => {
      const visitor = memberOf(request, "manageKeys");
      const key = await keys.find(actorOf(visitor), request.params.publicId);
      if ((key.status === "disabled") === isDisabled)
        return turnAway(reply, "/dashboard/keys", `Key “${key.name}” is already ${action}d.`);
      await keys.change(actorOf(visitor), key.publicId, { isDisabled });
      return goTo(reply, "/dashboard/keys", `Key “${key.name}” ${action}d.`);
    });
  }

  for (const action of ["disable", "rotate", "delete"] as const) {
    app.get(`/dashboard/keys/:publicId/${action}`, async (request: KeyRequest, reply) => {
      const visitor = memberOf(request, "manageKeys");
      return sendPage(
        reply,
        confirmKeyPage({ visitor, key: await keys.find(actorOf(visitor), request.params.publicId), action }),
      );
    });
  }

  app.post("/dashboard/keys/:publicId/rotate", async (request: KeyRequest, reply) => {
    const visitor = memberOf(request, "manageKeys");
    const overlapHours = overlapSchema.parse(readForm(request)["overlap"]);
    const { value } = await keys.rotate(actorOf(visitor), request.params.publicId, { overlapHours });
    return sendPage(reply, await renderValue(visitor, "New value of the key", value));
  });

  app.post("/dashboard/keys/:publicId/delete", async (request: KeyRequest, reply) => {
    const visitor = memberOf(request, "manageKeys");
    const key = await keys.delete(actorOf(visitor), request.params.publicId);
    return goTo(reply, "/dashboard/keys", `Key “${key.name}” deleted.`);
  });
}

function actorOf({ membership, person, mustProveEmail }: Member): KeyActor {
  return { accountId: membership.accountId, personId: person.id, tokenId: null, mustProveEmail };
}
