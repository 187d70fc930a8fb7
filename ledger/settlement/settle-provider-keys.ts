import { SUMMED_COLUMNS } from "../usage/sums.ts";

const SUMS = SUMMED_COLUMNS.map((name) => (name === "requests" ? "count(*)" : `sum(${name})`));

/** The part of the settling statement that sums new rows (`fresh`) of requests that were sent with provider keys. */
export const LAND_PROVIDER_KEYS = `, rolled_provider_keys AS (
    INSERT INTO provider_key_usage_by_day AS rolled (account_id, day, provider, model, ${SUMMED_COLUMNS.join(", ")})
    SELECT account_id, day, provider_key, model, ${SUMS.join(", ")} FROM fresh WHERE provider_key IS NOT NULL
    GROUP BY account_id, day, provider_key, model ORDER BY account_id, day, provider_key, model
    ON CONFLICT (account_id, day, provider, model) DO UPDATE SET
      ${SUMMED_COLUMNS.map((name) => `${name} = rolled.${name} + excluded.${name}`).join(", ")}
  )`;
