import { randomBytes } from "node:crypto";
import { v7 as uuidv7 } from "uuid";
import * as z from "zod";
import { ACCOUNT_BOUNDS } from "../../contract/account-bounds.ts";
import { GatewayError } from "../../contract/errors.ts";
import { seal, unseal } from "../people/sealed.ts";
import type { Queryable } from "../postgres/database.ts";
import { knownOrOther, type OrOther } from "../postgres/known-or-other.ts";
import type { EventType } from "./event-types.ts";
import { lockAccount } from "../accounts/lock-account.ts";

/** A target of an account's events. */
export interface Endpoint {
  id: string;
  url: string;
  /** Names of events; those of a newer version stay chosen. */
  events: string[];
  createdAt: Date;
  /** null: it gets events. "failures": it accepted nothing for days. */
  disabledBy: OrOther<"owner" | "failures"> | null;
  /** While events are signed with the previous secret too. */
  previousUntil: Date | null;
  /** null: no event was left out because too many were waiting. */
  droppedAt: Date | null;
}

const endpointRow = z.strictObject({
  id: z.string(),
  url: z.string(),
  events: z.array(z.string()),
  createdAt: z.date(),
  disabledBy: knownOrOther(["owner", "failures"]).nullable(),
  previousUntil: z.date().nullable(),
  droppedAt: z.date().nullable(),
});
const SELECT = `SELECT id, url, events, created_at AS "createdAt", disabled_by AS "disabledBy",
  CASE WHEN previous_until > now() THEN previous_until END AS "previousUntil", dropped_at AS "droppedAt" FROM webhook_endpoint`;

const SECRET_BYTES = 32;
const PREFIX = "whsec_";
/** Earlier versions seal and open their webhook's secret about the same. */
const about = (accountId: string) => `webhook ${accountId}`;

interface Owned {
  accountId: string;
  id: string;
}

/** Oldest first; there are few. */
export async function listEndpoints(database: Queryable, accountId: string): Promise<Endpoint[]> {
  return database.query({
    text: `${SELECT} WHERE account_id = $1 ORDER BY created_at, id`,
    values: [accountId],
    row: endpointRow,
  });
}

/** @throws GatewayError `not_found` when the account has no such endpoint. */
export async function findEndpoint(database: Queryable, { accountId, id }: Owned): Promise<Endpoint> {
  const [found] = z.uuid().safeParse(id).success
    ? await database.query({ text: `${SELECT} WHERE account_id = $1 AND id = $2`, values: [accountId, id], row: endpointRow })
    : [];
  if (found === undefined) throw new GatewayError("not_found", "This account has no such webhook.");
  return found;
}

export interface EndpointSettings {
  /** Already validated. */
  url: string;
  events: readonly EventType[];
}

/**
 * @returns the secret, which is stored encrypted and shown nowhere else.
 * @throws GatewayError `invalid_request` if the account has the maximum number of endpoints.
 */
export async function addEndpoint(
  transaction: Queryable,
  { accountId, url, events, pepper }: EndpointSettings & { accountId: string; pepper: Buffer },
): Promise<{ endpoint: Endpoint; secret: string }> {
  await lockAccount(transaction, accountId);
  const most = ACCOUNT_BOUNDS.webhooks;
  if ((await transaction.execute("SELECT FROM webhook_endpoint WHERE account_id = $1", [accountId])) >= most)
    throw new GatewayError("invalid_request", `An account can have at most ${most} webhooks. Delete one first.`);
  const [id, secret] = [uuidv7(), mintSecret()];
  await transaction.execute(
    "INSERT INTO webhook_endpoint (id, account_id, url, events, sealed_secret) VALUES ($1, $2, $3, $4, $5)",
    [id, accountId, url, events, seal(secret, { pepper, about: about(accountId) })],
  );
  return { endpoint: await findEndpoint(transaction, { accountId, id }), secret };
}

/** Absent members stay unchanged. @throws GatewayError `not_found`. */
export async function changeEndpoint(
  transaction: Queryable,
  { accountId, id }: Owned,
  {
    url,
    events,
    isDisabled,
  }: { [Name in keyof EndpointSettings]?: EndpointSettings[Name] | undefined } & {
    isDisabled?: boolean | undefined;
  },
): Promise<Endpoint> {
  await findEndpoint(transaction, { accountId, id });
  await transaction.execute("UPDATE webhook_endpoint SET url = coalesce($2, url), events = coalesce($3, events) WHERE id = $1", [
    id,
    url ?? null,
    events ?? null,
  ]);
  if (isDisabled === true) await disableEndpoint(transaction, id, "owner");
  if (isDisabled === false)
    await transaction.execute(
      "UPDATE webhook_endpoint SET disabled_at = NULL, disabled_by = NULL, is_mail_due = false WHERE id = $1 AND disabled_at IS NOT NULL",
      [id],
    );
  return findEndpoint(transaction, { accountId, id });
}

/** It gets no more events, and waiting ones are given up. */
export async function disableEndpoint(transaction: Queryable, id: string, by: "owner" | "failures"): Promise<void> {
  await transaction.execute(
    `UPDATE webhook_endpoint SET disabled_at = now(), disabled_by = $2, is_mail_due = $2 = 'failures'
     WHERE id = $1 AND disabled_at IS NULL`,
    [id, by],
  );
  await transaction.execute(
    `UPDATE event_delivery SET next_attempt_at = NULL, problem = coalesce(problem, 'The webhook was disabled.')
     WHERE endpoint_id = $1 AND next_attempt_at IS NOT NULL`,
    [id],
  );
}

/**
 * Gives an endpoint a new secret.
 * @param overlapHours how long events are signed with the previous one too; 0: not at all.
 * @throws GatewayError `not_found`.
 */
export async function rotateEndpoint(
  transaction: Queryable,
  { accountId, id, overlapHours, pepper }: Owned & { overlapHours: number; pepper: Buffer },
): Promise<{ endpoint: Endpoint; secret: string }> {
  await findEndpoint(transaction, { accountId, id });
  const secret = mintSecret();
  await transaction.execute(
    `UPDATE webhook_endpoint SET sealed_secret = $2, previous_sealed_secret = CASE WHEN $3 > 0 THEN sealed_secret END,
       previous_until = CASE WHEN $3 > 0 THEN now() + make_interval(hours => $3) END WHERE id = $1`,
    [id, seal(secret, { pepper, about: about(accountId) }), overlapHours],
  );
  return { endpoint: await findEndpoint(transaction, { accountId, id }), secret };
}

/** With its deliveries. @returns the endpoint before. @throws GatewayError `not_found`. */
export async function deleteEndpoint(transaction: Queryable, { accountId, id }: Owned): Promise<Endpoint> {
  const endpoint = await findEndpoint(transaction, { accountId, id });
  await transaction.execute("DELETE FROM webhook_endpoint WHERE id = $1", [id]);
  return endpoint;
}

export async function deleteEndpointsOf(transaction: Queryable, accountId: string): Promise<void> {
  await transaction.execute("DELETE FROM webhook_endpoint WHERE account_id = $1", [accountId]);
}

/** The endpoint that the API of a single webhook manages: the oldest that gets the events of budgets. */
export async function findSingleWebhook(database: Queryable, accountId: string): Promise<Endpoint | undefined> {
  const [found] = await database.query({
    text: `${SELECT} WHERE id = single_webhook($1)`,
    values: [accountId],
    row: endpointRow,
  });
  return found;
}

function mintSecret(): string {
  return `${PREFIX}${randomBytes(SECRET_BYTES).toString("base64")}`;
}

/** The key that events are signed with; undefined: it was sealed with another pepper. */
export function openSecret(sealed: Buffer, { accountId, pepper }: { accountId: string; pepper: Buffer }): Buffer | undefined {
  const secret = unseal(sealed, { pepper, about: about(accountId) });
  return secret === undefined ? undefined : Buffer.from(secret.slice(PREFIX.length), "base64");
}
