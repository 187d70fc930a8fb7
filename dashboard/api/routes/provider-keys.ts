import * as z from "zod";
import { PROVIDER_KEY_STATES } from "../../../contract/provider-key.ts";
import { GatewayError } from "../../../contract/errors.ts";
import { formatPercent } from "../../../ledger/money.ts";
import type { Database } from "../../../ledger/postgres/database.ts";
import { readOffers, type ProviderOffer } from "../../../ledger/provider-keys/offers.ts";
import {
  deleteProviderKey,
  findProviderKey,
  listProviderKeys,
  setFallback,
  setProviderKey,
  type ProviderKey,
} from "../../../ledger/provider-keys/provider-keys.ts";
import { readSealing } from "../../../ledger/provider-keys/sealing.ts";
import type { AppDeps } from "../../app-deps.ts";
import { pricePerImage } from "../../money.ts";
import { providerName, providerOrigin, providerSecret } from "../../provider-keys/provider-key-form.ts";
import { callerOf } from "../caller.ts";
import type { Api } from "../provider.ts";
import { failures } from "../schemas/error.ts";
import { orOther } from "../schemas/or-other.ts";
import { moment, showMoment, showMomentOrNull } from "../schemas/values.ts";

const tags = ["Provider keys"];
const params = z.object({ provider: providerName });
const origin = z.string().meta({ description: "The server that the key is sent to", examples: ["https://api.provider.example"] });
const providerKey = z
  .object({
    provider: z.string(),
    origin,
    masked_key: z.string().meta({ description: "Its last four characters; the rest is never shown", examples: ["****WxYz"] }),
    state: orOther(PROVIDER_KEY_STATES).meta({
      description:
        "`pending`: being applied, which takes a second. `active`: in use. `no_room`, `unusable` and any `other`: the key cannot be used, and requests are refused unless `fallback` is true",
    }),
    fallback: z.boolean().meta({
      description: "Whether requests are sent with the service's credential, at the model's price, while the key cannot be used",
    }),
    created_at: moment,
    replaced_at: moment.nullable(),
  })
  .meta({ id: "ProviderKey" });
const offer = z
  .object({
    provider: z.string(),
    origin,
    models: z.array(
      z.object({
        name: z.string(),
        fee: z.object({
          per_request: z.string().meta({ description: "USD, as a decimal string" }),
          percent: z.string().meta({ description: "Of the model's price" }),
        }),
      }),
    ),
  })
  .meta({ id: "ProviderOffer" });
const entered = z.strictObject({
  key: providerSecret.meta({ description: "The key itself. Stored encrypted, and never shown again" }),
  origin: providerOrigin.optional().meta({ description: "Required if several servers share this provider's name" }),
});

/** The account's own keys for providers (docs/provider-keys.md). */
export function providerKeyApi(api: Api, { database, pepper }: AppDeps): void {
  api.get(
    "/provider-offers",
    {
      schema: {
        tags,
        summary: "List providers that accept the account's own key",
        response: { 200: z.object({ data: z.array(offer) }), ...failures },
      },
    },
    async (request) => {
      callerOf(request);
      const sealing = await readSealing(database, pepper);
      return { data: sealing === undefined ? [] : (await readOffers(database)).map(showOffer) };
    },
  );

  api.get(
    "/provider-keys",
    {
      schema: {
        tags,
        summary: "List provider keys by provider",
        description: "An account can have one key per provider.",
        response: { 200: z.object({ data: z.array(providerKey) }), ...failures },
      },
    },
    async (request) => ({ data: (await listProviderKeys(database, callerOf(request).accountId)).map(showKey) }),
  );

  api.get(
    "/provider-keys/:provider",
    { schema: { tags, summary: "Get a provider key", params, response: { 200: providerKey, ...failures } } },
    async (request) =>
      showKey(await findProviderKey(database, { accountId: callerOf(request).accountId, provider: request.params.provider })),
  );

  api.put(
    "/provider-keys/:provider",
    {
      schema: {
        tags,
        summary: "Add or replace a provider key",
        description:
          "Within a second, requests to the provider's models are sent with this key and charged the fee instead of the price. Requires the owner role.",
        params,
        body: entered,
        response: { 200: providerKey, ...failures },
      },
    },
    async (request) => {
      const caller = callerOf(request, "manageProviderKeys");
      const { provider } = request.params;
      const { key: value } = request.body;
      const chosen = request.body.origin ?? (await onlyOrigin(database, provider));
      return showKey(await setProviderKey(database, caller, { provider, origin: chosen, value, pepper }));
    },
  );

  api.patch(
    "/provider-keys/:provider",
    {
      schema: {
        tags,
        summary: "Allow fallback from a provider key, or end it",
        description:
          "While the key cannot be used, requests are then sent with the service's own credential and charged the model's price, instead of being refused. Requires the owner role.",
        params,
        body: z.strictObject({ fallback: z.boolean() }),
        response: { 200: providerKey, ...failures },
      },
    },
    async (request) => {
      const caller = callerOf(request, "manageProviderKeys");
      const change = { provider: request.params.provider, fallsBack: request.body.fallback };
      return showKey(await setFallback(database, caller, change));
    },
  );

  api.delete(
    "/provider-keys/:provider",
    {
      schema: {
        tags,
        summary: "Delete a provider key",
        description:
          "Within a second, requests are sent with the service's own credential again, and charged the model's price. Requires the owner role.",
        params,
        response: { 204: z.null().meta({ description: "Deleted." }), ...failures },
      },
    },
    async (request, reply) => {
      await deleteProviderKey(database, callerOf(request, "manageProviderKeys"), request.params.provider);
      return reply.status(204).send(null);
    },
  );
}

async function onlyOrigin(database: Database, provider: string): Promise<string> {
  const [first, ...others] = (await readOffers(database)).filter((each) => each.provider === provider);
  if (first === undefined)
    throw new GatewayError(
      "invalid_request",
      `No model accepts a key for the provider ${provider}. GET /api/v1/provider-offers lists those that do.`,
      { field: "provider" },
    );
  if (others.length === 0) return first.origin;
  const origins = [first, ...others].map((each) => each.origin).join(", ");
  throw new GatewayError("invalid_request", `Several servers go by the name ${provider}: send origin, one of ${origins}.`, {
    field: "origin",
  });
}

function showKey(key: ProviderKey): z.infer<typeof providerKey> {
  const { provider, origin, lastFour, state, fallsBack, createdAt, replacedAt } = key;
  return {
    provider,
    origin,
    masked_key: `****${lastFour}`,
    state,
    fallback: fallsBack,
    created_at: showMoment(createdAt),
    replaced_at: showMomentOrNull(replacedAt),
  };
}

function showOffer({ provider, origin, models }: ProviderOffer): z.infer<typeof offer> {
  return {
    provider,
    origin,
    models: models.map(({ name, fee }) => ({
      name,
      fee: { per_request: pricePerImage(fee.requestPicoUsd), percent: formatPercent(fee.millionths) },
    })),
  };
}
