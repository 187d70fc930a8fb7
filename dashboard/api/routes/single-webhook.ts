import * as z from "zod";
import { findSingleWebhook } from "../../../ledger/webhooks/endpoints.ts";
import type { AppDeps } from "../../app-deps.ts";
import { createWebhookActions } from "../../webhooks/webhook-actions.ts";
import { callerOf, provenCallerOf } from "../caller.ts";
import type { Api } from "../provider.ts";
import { failures } from "../schemas/error.ts";
import { moment, showMoment, words } from "../schemas/values.ts";

const tags = ["Webhooks"];
const deprecated = true;
const webhook = z.object({ url: z.string(), created_at: moment }).meta({ id: "Webhook" });
const newWebhook = webhook
  .extend({ secret: z.string().meta({ description: "Signs events. Only this response contains it." }) })
  .meta({ id: "NewWebhook" });
const instead = "Use /webhooks instead: an account can have several webhooks.";

/**
 * From when an account had one webhook, for the events of budgets: programs keep working. It is the oldest one that gets these
 * events.
 */
export function singleWebhookApi(api: Api, deps: AppDeps): void {
  const { database } = deps;
  const webhooks = createWebhookActions(deps);

  api.get(
    "/webhook",
    {
      schema: {
        tags,
        deprecated,
        summary: "Get the webhook for budget events",
        description: instead,
        response: { 200: z.object({ webhook: webhook.nullable().meta({ description: "null if there is none" }) }), ...failures },
      },
    },
    async (request) => {
      const found = await findSingleWebhook(database, callerOf(request).accountId);
      return { webhook: found === undefined ? null : { url: found.url, created_at: showMoment(found.createdAt) } };
    },
  );

  api.put(
    "/webhook",
    {
      schema: {
        tags,
        deprecated,
        summary: "Set the webhook for budget events",
        description: `With a new secret. ${instead} Requires the owner role.`,
        body: z.strictObject({ url: words("An address", 2_000) }),
        response: { 200: newWebhook, ...failures },
      },
    },
    async (request) => {
      const caller = provenCallerOf(request, "manageWebhooks");
      const { url } = request.body;
      const found = await findSingleWebhook(database, caller.accountId);
      const made =
        found === undefined
          ? await webhooks.add(caller, { url, events: ["budget.threshold_reached"] })
          : await webhooks.replace(caller, found.id, url);
      return { url: made.endpoint.url, created_at: showMoment(made.endpoint.createdAt), secret: made.secret };
    },
  );

  api.delete(
    "/webhook",
    {
      schema: {
        tags,
        deprecated,
        summary: "Remove the webhook for budget events",
        description: `${instead} Requires the owner role.`,
        response: { 204: z.null().meta({ description: "Done." }), ...failures },
      },
    },
    async (request, reply) => {
      const caller = callerOf(request, "manageWebhooks");
      const found = await findSingleWebhook(database, caller.accountId);
      if (found !== undefined) await webhooks.delete(caller, found.id);
      return reply.status(204).send(null);
    },
  );
}
