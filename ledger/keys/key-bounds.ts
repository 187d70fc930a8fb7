import * as z from "zod";
import { ACCOUNT_BOUNDS } from "../../contract/account-bounds.ts";
import { GatewayError } from "../../contract/errors.ts";
import type { Queryable } from "../postgres/database.ts";
import { lockAccount } from "../accounts/lock-account.ts";

const countRow = z.strictObject({ keys: z.bigint() });

/**
 * Whether there is room for one more key. In a transaction the answer stays true until its end: an account creates one key at a
 * time. Keys deleted within the last day count, so that alternating creation and deletion is limited.
 */
export async function hasRoomForKey(database: Queryable, accountId: string): Promise<boolean> {
  await lockAccount(database, accountId);
  const [count] = await database.query({
    text: `SELECT count(*) AS keys FROM (
             SELECT FROM api_key WHERE account_id = $1 AND revoked_at IS NULL AND NOT EXISTS (${OF_RESOURCE})
             UNION ALL SELECT FROM api_key WHERE account_id = $1 AND revoked_at > now() - interval '1 day' AND NOT EXISTS (${OF_RESOURCE})
           ) AS counted`,
    values: [accountId],
    row: countRow,
  });
  return count === undefined || count.keys < BigInt(ACCOUNT_BOUNDS.keys);
}

const OF_RESOURCE = "SELECT FROM resource_key WHERE resource_key.public_id = api_key.public_id";

/** Is there room for one more key of an ApiKey resource? All keys of the account count. */
export async function hasRoomForResourceKey(database: Queryable, accountId: string): Promise<boolean> {
  await lockAccount(database, accountId);
  const [count] = await database.query({
    // Two index scans: this is called for each of ten thousand resources created at once.
    text: `SELECT (SELECT count(*) FROM api_key WHERE account_id = $1 AND revoked_at IS NULL)
             + (SELECT count(*) FROM api_key WHERE account_id = $1 AND revoked_at > now() - interval '1 day') AS keys`,
    values: [accountId],
    row: countRow,
  });
  return count === undefined || count.keys < BigInt(ACCOUNT_BOUNDS.keysWithResources);
}

export const TOO_MANY_KEYS = `An account can have at most ${ACCOUNT_BOUNDS.keys} keys, including those deleted in the last 24 hours. Delete unused keys, and try again a day later.`;

/**
 * A key's models must be in the catalogue: an unknown name would be kept, copied to every process and sent with every list, for
 * nothing. A withdrawn model is still a known name.
 * @param field the caller's name for the list.
 * @throws GatewayError `invalid_request` that names the first unknown one.
 */
export async function checkModelNames(database: Queryable, names: readonly string[] | null, field = "models"): Promise<void> {
  if (names === null) return;
  if (names.length > ACCOUNT_BOUNDS.modelsOfKey)
    throw new GatewayError("invalid_request", `A key can name at most ${ACCOUNT_BOUNDS.modelsOfKey} models.`, { field });
  const known = await database.query({
    text: "SELECT name FROM model WHERE name = ANY($1)",
    values: [names],
    row: z.strictObject({ name: z.string() }),
  });
  const missing = names.find((name) => !known.some((model) => model.name === name));
  if (missing !== undefined)
    throw new GatewayError(
      "invalid_request",
      `There is no model ${JSON.stringify(missing)}. GET /api/v1/models and the Models page list the names.`,
      { field },
    );
}
