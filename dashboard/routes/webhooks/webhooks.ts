import type { FastifyInstance, FastifyRequest } from "fastify";
import * as z from "zod";
import { GatewayError } from "../../../contract/errors.ts";
import { cutPage } from "../../../ledger/postgres/page.ts";
import { findDelivery, listDeliveries } from "../../../ledger/webhooks/deliveries.ts";
import { findEndpoint, listEndpoints } from "../../../ledger/webhooks/endpoints.ts";
import type { AppDeps } from "../../app-deps.ts";
import { EMPTY_FORM, readForm, readQuery, refuseForm, submitForm, type FormState } from "../../http/form.ts";
import { goTo, sendPage } from "../../http/reply.ts";
import { isAllowed } from "../../../ledger/people/permissions.ts";
import { checkFresh } from "../../session/fresh.ts";
import { memberOf } from "../../session/guard.ts";
import type { Member } from "../../session/visitor.ts";
import { deleteWebhookPage, deliveryPage, rotateWebhookPage, webhookPage } from "../../views/webhooks/webhook.ts";
import { webhookSecretDialog, WEBHOOKS_PATH, webhooksPage } from "../../views/webhooks/webhooks.ts";
import { createWebhookActions, type WebhookActor } from "../../webhooks/webhook-actions.ts";
import { webhookForm } from "../../webhooks/webhook-form.ts";

type WebhookRequest = FastifyRequest<{ Params: { id: string } }>;
type DeliveryRequest = FastifyRequest<{ Params: { id: string; deliveryId: string } }>;

const PAGE = 20;
const overlapForm = z.object({ overlap: z.enum(["24", "168", "0"], "Choose how long.").default("24") });

/** Webhooks of the account, for its owners. */
export function webhookEndpointRoutes(app: FastifyInstance, deps: AppDeps): void {
  const { database } = deps;
  const actions = createWebhookActions(deps);
  const find = ({ membership: { accountId } }: Member, id: string) => findEndpoint(database, { accountId, id });

  async function renderList(visitor: Member, form: FormState = EMPTY_FORM, dialog = ""): Promise<string> {
    const { accountId, role } = visitor.membership;
    const endpoints = isAllowed(role, "manageWebhooks") ? await listEndpoints(database, accountId) : [];
    return webhooksPage({ visitor, endpoints, form, dialog });
  }

  async function render(
    visitor: Member,
    id: string,
    { form, dialog, before }: { form?: FormState; dialog?: string; before?: string } = {},
  ): Promise<string> {
    const endpoint = await find(visitor, id);
    const beforeId = z.uuid().safeParse(before).data;
    const rows = await listDeliveries(database, { endpointId: id, limit: PAGE + 1, beforeId });
    const { page: deliveries, next } = cutPage(rows, PAGE, (last) => last.id);
    const values = { url: endpoint.url, events: endpoint.events.join(",") };
    return webhookPage({ visitor, endpoint, deliveries, next, form: form ?? { values, problems: {} }, dialog: dialog ?? "" });
  }

  app.get(WEBHOOKS_PATH, async (request, reply) => sendPage(reply, await renderList(memberOf(request))));

  app.post(WEBHOOKS_PATH, async (request, reply) => {
    const visitor = memberOf(request, "manageWebhooks");
    checkFresh(visitor, WEBHOOKS_PATH);
    const values = readForm(request);
    let dialog = "";
    const form = await submitForm(values, async () => {
      const { endpoint, secret } = await actions.add(actorOf(visitor), webhookForm.parse(values));
      dialog = webhookSecretDialog({ id: endpoint.id, secret, title: "Webhook added" });
    });
    // Nothing chosen is a value too.
    if (form !== undefined)
      return refuseForm(reply, await renderList(visitor, { ...form, values: { events: "", ...form.values } }), { form });
    return sendPage(reply, await renderList(visitor, EMPTY_FORM, dialog));
  });

  app.get(`${WEBHOOKS_PATH}/:id`, async (request: WebhookRequest, reply) =>
    sendPage(
      reply,
      await render(memberOf(request, "manageWebhooks"), request.params.id, { before: readQuery(request, "before") }),
    ),
  );

  app.post(`${WEBHOOKS_PATH}/:id`, async (request: WebhookRequest, reply) => {
    const visitor = memberOf(request, "manageWebhooks");
    const { id } = request.params;
    const path = `${WEBHOOKS_PATH}/${(await find(visitor, id)).id}`;
    checkFresh(visitor, path);
    const values = readForm(request);
    const form = await submitForm(values, async () => {
      await actions.change(actorOf(visitor), id, webhookForm.parse(values));
    });
    if (form !== undefined) return refuseForm(reply, await render(visitor, id, { form }), { form });
    return goTo(reply, path, "Webhook saved.");
  });

  for (const [name, isDisabled, toast] of [
    ["disable", true, "Webhook disabled."],
    ["enable", false, "Webhook enabled."],
  ] as const)
    app.post(`${WEBHOOKS_PATH}/:id/${name}`, async (request: WebhookRequest, reply) => {
      const visitor = memberOf(request, "manageWebhooks");
      const { id } = await actions.change(actorOf(visitor), request.params.id, { isDisabled });
      return goTo(reply, `${WEBHOOKS_PATH}/${id}`, toast);
    });

  app.post(`${WEBHOOKS_PATH}/:id/test`, async (request: WebhookRequest, reply) => {
    const visitor = memberOf(request, "manageWebhooks");
    await actions.test(actorOf(visitor), request.params.id);
    return goTo(reply, `${WEBHOOKS_PATH}/${request.params.id}`, "Test event queued.");
  });

  app.get(`${WEBHOOKS_PATH}/:id/rotate`, async (request: WebhookRequest, reply) => {
    const visitor = memberOf(request, "manageWebhooks");
    return sendPage(reply, rotateWebhookPage({ visitor, endpoint: await find(visitor, request.params.id), form: EMPTY_FORM }));
  });

  app.post(`${WEBHOOKS_PATH}/:id/rotate`, async (request: WebhookRequest, reply) => {
    const visitor = memberOf(request, "manageWebhooks");
    const endpoint = await find(visitor, request.params.id);
    const { id } = endpoint;
    checkFresh(visitor, `${WEBHOOKS_PATH}/${id}`);
    const values = readForm(request);
    let dialog = "";
    const form = await submitForm(values, async () => {
      const { secret } = await actions.rotate(actorOf(visitor), id, Number(overlapForm.parse(values).overlap));
      dialog = webhookSecretDialog({ id, secret, title: "Secret rotated" });
    });
    if (form !== undefined) return refuseForm(reply, rotateWebhookPage({ visitor, endpoint, form }), { form });
    return sendPage(reply, await render(visitor, id, { dialog }));
  });

  app.get(`${WEBHOOKS_PATH}/:id/delete`, async (request: WebhookRequest, reply) => {
    const visitor = memberOf(request, "manageWebhooks");
    return sendPage(reply, deleteWebhookPage({ visitor, endpoint: await find(visitor, request.params.id) }));
  });

  app.post(`${WEBHOOKS_PATH}/:id/delete`, async (request: WebhookRequest, reply) => {
    await actions.delete(actorOf(memberOf(request, "manageWebhooks")), request.params.id);
    return goTo(reply, WEBHOOKS_PATH, "Webhook deleted.");
  });

  app.get(`${WEBHOOKS_PATH}/:id/deliveries/:deliveryId`, async (request: DeliveryRequest, reply) => {
    const visitor = memberOf(request, "manageWebhooks");
    const endpoint = await find(visitor, request.params.id);
    const delivery = await findDelivery(database, { endpointId: endpoint.id, id: request.params.deliveryId });
    if (delivery === undefined) throw new GatewayError("not_found", "This webhook has no such delivery.");
    return sendPage(reply, deliveryPage({ visitor, endpoint, delivery }));
  });

  app.post(`${WEBHOOKS_PATH}/:id/deliveries/:deliveryId/repeat`, async (request: DeliveryRequest, reply) => {
    const visitor = memberOf(request, "manageWebhooks");
    await actions.repeat(actorOf(visitor), request.params);
    return goTo(reply, `${WEBHOOKS_PATH}/${request.params.id}`, "Event queued.");
  });
}

function actorOf({ membership, person }: Member): WebhookActor {
  return { accountId: membership.accountId, personId: person.id, tokenId: null };
}
