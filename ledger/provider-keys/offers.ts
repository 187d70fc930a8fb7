import * as z from "zod";
import type { ProviderKeyFee } from "../../contract/provider-key.ts";
import type { Reader } from "../postgres/database.ts";
import { providerKeyFeeColumn, PROVIDER_KEY_FEE } from "../models/price-schedule.ts";

/** A provider that accounts may bring a key for: a name, and the server that gets it. */
export interface ProviderOffer {
  provider: string;
  origin: string;
  /** That take it, by name. */
  models: readonly OfferingModel[];
}

export interface OfferingModel {
  name: string;
  fee: ProviderKeyFee;
  /** Of its backends that take the key; requests of an account that brings one go to these alone. */
  backends: readonly string[];
}

const row = z.strictObject({
  provider: z.string(),
  origin: z.string(),
  model: z.string(),
  backends: z.array(z.string()),
  providerKeyFee: providerKeyFeeColumn,
});

/** A backend of a served model that takes provider keys, as a part of a statement. */
export const OFFERED = `SELECT model.name AS model, price_version_id, backend ->> 'name' AS backend,
    backend -> 'providerKey' ->> 'provider' AS provider, backend -> 'providerKey' ->> 'origin' AS origin,
    backend -> 'providerKey' ->> 'endpoint' AS endpoint
  FROM model CROSS JOIN LATERAL jsonb_array_elements(spec -> 'backends') AS backend
  WHERE withdrawn_at IS NULL AND backend ? 'providerKey'`;

/** Whether the account could enter a key, or has one. */
export async function concernsProviderKeys(database: Reader, accountId: string): Promise<boolean> {
  const [found] = await database.query({
    text: `SELECT EXISTS (${OFFERED}) OR EXISTS (SELECT FROM provider_key WHERE account_id = $1) AS found`,
    values: [accountId],
    row: z.strictObject({ found: z.boolean() }),
  });
  return found?.found === true;
}

/** By name and server. */
export async function readOffers(database: Reader): Promise<ProviderOffer[]> {
  const rows = await database.query({
    text: `WITH offered AS (${OFFERED})
           SELECT provider, origin, offered.model, array_agg(DISTINCT backend ORDER BY backend) AS backends, ${PROVIDER_KEY_FEE}
           FROM offered JOIN price_version ON id = price_version_id
           GROUP BY provider, origin, offered.model, id
           ORDER BY provider COLLATE "C", origin COLLATE "C", offered.model COLLATE "C"`,
    row,
  });
  const offers = new Map<string, ProviderOffer & { models: OfferingModel[] }>();
  for (const { provider, origin, model, backends, providerKeyFee: fee } of rows) {
    if (fee === null) continue;
    const key = JSON.stringify([provider, origin]);
    const offer = offers.get(key) ?? { provider, origin, models: [] };
    offers.set(key, offer);
    offer.models.push({ name: model, fee, backends });
  }
  return [...offers.values()];
}
