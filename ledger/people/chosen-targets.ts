import * as z from "zod";
import type { Queryable } from "../postgres/database.ts";
import { listDestinations } from "../traces/destinations.ts";
import { listEndpoints } from "../webhooks/endpoints.ts";
import type { ActionName } from "./action-names.ts";

/** Where an account's events or traces are sent to. */
export interface ChosenTarget {
  kind: "webhook" | "trace destination";
  id: string;
  /** Scheme, host and port: the rest of an address may be secret. */
  origin: string;
}

/** Their subject is the origin. */
const CHOICES = [
  "account.webhook_set",
  "account.webhook_changed",
  "account.traces_added",
  "account.traces_changed",
] as const satisfies readonly ActionName[];

/**
 * By audit log: webhooks and trace destinations of the account at a server that the person, or one of their tokens, has chosen. After
 * they have left, their server may still get what happens in the account.
 */
export async function listChosenTargets(
  database: Queryable,
  { accountId, personId }: { accountId: string; personId: string },
): Promise<ChosenTarget[]> {
  const [endpoints, destinations] = [await listEndpoints(database, accountId), await listDestinations(database, accountId)];
  const targets = [
    ...endpoints.map(({ id, url }) => ({ kind: "webhook" as const, id, origin: new URL(url).origin })),
    ...destinations.map(({ id, url }) => ({ kind: "trace destination" as const, id, origin: new URL(url).origin })),
  ];
  if (targets.length === 0) return [];
  const chosen = await database.query({
    text: `SELECT DISTINCT subject FROM audit_entry LEFT JOIN management_token ON management_token.id = token_id
           WHERE audit_entry.account_id = $1 AND action = ANY ($3) AND subject = ANY ($4) AND $2 IN (person_id, created_by)`,
    values: [accountId, personId, CHOICES, targets.map(({ origin }) => origin)],
    row: z.strictObject({ subject: z.string() }),
  });
  const origins = new Set(chosen.map(({ subject }) => subject));
  return targets.filter(({ origin }) => origins.has(origin));
}
