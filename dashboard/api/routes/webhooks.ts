import * as z from "zod";
import { cutPage } from "../../../ledger/postgres/page.ts";
import { listDeliveries, type ListedDelivery } from "../../../ledger/webhooks/deliveries.ts";
import { findEndpoint, listEndpoints, type Endpoint } from "../../../ledger/webhooks/endpoints.ts";
import { EVENT_TYPES } from "../../../ledger/webhooks/event-types.ts";
import type { AppDeps } from "../../app-deps.ts";
import { createWebhookActions } from "../../webhooks/webhook-actions.ts";
import { chosenEvents } from "../../webhooks/webhook-form.ts";
import { callerOf, provenCallerOf } from "../caller.ts";
import { encodeCursor, readIdCursor } from "../cursor.ts";
import type { Api } from "../provider.ts";
import { failures } from "../schemas/error.ts";
import { moment, nextCursor, pageQuery, showMoment, showMomentOrNull, words } from "../schemas/values.ts";

const tags = ["Webhooks"];
const id = z.uuid("Must be the ID of a webhook.");
const params = z.object({ id });
const deliveryParams = z.object({ id, delivery_id: z.uuid("Must be the ID of a delivery.") });
const noContent = { 204: z.null().meta({ description: "Done." }), ...failures };
const secret = z.string().meta({ description: "Signs events. Only this response contains it." });
const address = words("An address", 2_000);
const owners = "Requires the owner role.";

const endpoint = z
  .object({
    id: z.string(),
    url: z.string(),
    events: z.array(z.string()).meta({ description: `Any of ${EVENT_TYPES.join(", ")}` }),
    status: z
      .enum(["active", "disabled", "failed"])
      .meta({ description: "`failed`: disabled because it accepted no events for nearly three days" }),
    created_at: moment,
    previous_secret_until: moment
      .nullable()
      .meta({ description: "Until then, events are also signed with the previous secret; null: they are not" }),
    dropped_at: moment
      .nullable()
      .meta({ description: "When an event was last dropped because too many were waiting; null: never" }),
  })
  .meta({ id: "WebhookEndpoint" });
const newEndpoint = endpoint.extend({ secret }).meta({ id: "NewWebhookEndpoint" });

const delivery = z
  .object({
    id: z.string(),
    event_id: z.string().meta({ description: "The `webhook-id` header" }),
    type: z.string(),
    status: z.enum(["delivered", "waiting", "failed"]),
    attempts: z.int(),
    problem: z.string().nullable().meta({ description: "Why the last attempt failed" }),
    created_at: moment,
    next_attempt_at: moment.nullable().meta({ description: "null: no further attempt" }),
  })
  .meta({ id: "WebhookDelivery" });

/** Endpoints of an account's events (docs/webhooks.md). */
export function webhookApi(api: Api, deps: AppDeps): void {
  const { database } = deps;
  const webhooks = createWebhookActions(deps);

  api.get(
    "/webhooks",
    {
      schema: {
        tags,
        summary: "List webhooks",
        description: owners,
        response: { 200: z.object({ data: z.array(endpoint) }), ...failures },
      },
    },
    async (request) => {
      const { accountId } = callerOf(request, "manageWebhooks");
      return { data: (await listEndpoints(database, accountId)).map(showEndpoint) };
    },
  );

  api.post(
    "/webhooks",
    {
      schema: {
        tags,
        summary: "Add a webhook",
        description: `Events are sent as JSON, signed according to Standard Webhooks. ${owners}`,
        body: z.strictObject({ url: address, events: chosenEvents }),
        response: { 201: newEndpoint, ...failures },
      },
    },
    async (request, reply) => {
      const made = await webhooks.add(provenCallerOf(request, "manageWebhooks"), request.body);
      return reply.status(201).send({ ...showEndpoint(made.endpoint), secret: made.secret });
    },
  );

  api.get(
    "/webhooks/:id",
    { schema: { tags, summary: "Get a webhook", description: owners, params, response: { 200: endpoint, ...failures } } },
    async (request) => {
      const { accountId } = callerOf(request, "manageWebhooks");
      return showEndpoint(await findEndpoint(database, { accountId, id: request.params.id }));
    },
  );

  api.patch(
    "/webhooks/:id",
    {
      schema: {
        tags,
        summary: "Change, disable or enable a webhook",
        description: `Omitted fields stay unchanged. While a webhook is disabled, its events are neither sent nor kept. ${owners}`,
        params,
        body: z.strictObject({
          url: address.optional(),
          events: chosenEvents.optional(),
          disabled: z.boolean("Must be true or false.").optional(),
        }),
        response: { 200: endpoint, ...failures },
      },
    },
    async (request) => {
      const { disabled: isDisabled, ...settings } = request.body;
      const isChange = Object.values(settings).some((value) => value !== undefined);
      const caller = (isChange ? provenCallerOf : callerOf)(request, "manageWebhooks");
      return showEndpoint(await webhooks.change(caller, request.params.id, { ...settings, isDisabled }));
    },
  );

  api.delete(
    "/webhooks/:id",
    { schema: { tags, summary: "Delete a webhook and its deliveries", description: owners, params, response: noContent } },
    async (request, reply) => {
      await webhooks.delete(callerOf(request, "manageWebhooks"), request.params.id);
      return reply.status(204).send(null);
    },
  );

  api.post(
    "/webhooks/:id/rotate",
    {
      schema: {
        tags,
        summary: "Rotate a webhook's secret",
        description: owners,
        params,
        body: z.strictObject({
          overlap_hours: z
            .int("Write a whole number of hours.")
            .min(0, "At least 0.")
            .max(168, "At most 168, a week.")
            .default(24)
            .meta({ description: "How long events are also signed with the previous secret" }),
        }),
        response: { 200: newEndpoint, ...failures },
      },
    },
    async (request) => {
      const caller = provenCallerOf(request, "manageWebhooks");
      const made = await webhooks.rotate(caller, request.params.id, request.body.overlap_hours);
      return { ...showEndpoint(made.endpoint), secret: made.secret };
    },
  );

  api.post(
    "/webhooks/:id/test",
    { schema: { tags, summary: "Send a test event", description: owners, params, response: noContent } },
    async (request, reply) => {
      await webhooks.test(callerOf(request, "manageWebhooks"), request.params.id);
      return reply.status(204).send(null);
    },
  );

  api.get(
    "/webhooks/:id/deliveries",
    {
      schema: {
        tags,
        summary: "List a webhook's deliveries, newest first",
        description: `They are kept for up to 30 days. ${owners}`,
        params,
        querystring: z.strictObject(pageQuery),
        response: { 200: z.object({ data: z.array(delivery), next_cursor: nextCursor }), ...failures },
      },
    },
    async (request) => {
      const { accountId } = callerOf(request, "manageWebhooks");
      const { limit, cursor } = request.query;
      const { id: endpointId } = await findEndpoint(database, { accountId, id: request.params.id });
      const beforeId = cursor === undefined ? undefined : readIdCursor(cursor);
      const rows = await listDeliveries(database, { endpointId, limit: limit + 1, beforeId });
      const { page, next } = cutPage(rows, limit, (last) => encodeCursor(last.id));
      return { data: page.map(showDelivery), next_cursor: next };
    },
  );

  api.post(
    "/webhooks/:id/deliveries/:delivery_id/repeat",
    {
      schema: {
        tags,
        summary: "Resend an event",
        description: `As a new delivery, with the same \`webhook-id\`. ${owners}`,
        params: deliveryParams,
        response: { 201: delivery, ...failures },
      },
    },
    async (request, reply) => {
      const { id, delivery_id: deliveryId } = request.params;
      const repeated = await webhooks.repeat(callerOf(request, "manageWebhooks"), { id, deliveryId });
      return reply.status(201).send(showDelivery(repeated));
    },
  );
}

function showEndpoint({ id, url, events, createdAt, disabledBy, previousUntil, droppedAt }: Endpoint): z.infer<typeof endpoint> {
  const status = disabledBy === null ? "active" : disabledBy === "failures" ? "failed" : "disabled";
  return {
    id,
    url,
    events,
    status,
    created_at: showMoment(createdAt),
    previous_secret_until: showMomentOrNull(previousUntil),
    dropped_at: showMomentOrNull(droppedAt),
  };
}

function showDelivery(listed: ListedDelivery): z.infer<typeof delivery> {
  const { id, eventId, type, status, attempts, problem, createdAt, nextAttemptAt } = listed;
  return {
    id,
    event_id: eventId,
    type,
    status,
    attempts,
    problem,
    created_at: showMoment(createdAt),
    next_attempt_at: showMomentOrNull(nextAttemptAt),
  };
}
