import { v7 as uuidv7 } from "uuid";
import * as z from "zod";
import { ACCOUNT_BOUNDS } from "../../contract/account-bounds.ts";
import { GatewayError } from "../../contract/errors.ts";
import type { Queryable } from "../postgres/database.ts";
import { DAY_MS, endOfDay } from "../../contract/days.ts";
import { lowestIdAt } from "../usage/request-id-time.ts";
import { lockForChange, type Actor } from "./actor.ts";
import type { ActionFilterName, ActionName } from "./action-names.ts";
import { lockPerson } from "./lock-person.ts";
import type { Permission } from "./permissions.ts";

/** An action of a person; the subject names its object, and is never a secret. */
export interface Action {
  accountId: string | null;
  personId: string | null;
  /** Instead of a person: the management token that did it. */
  tokenId?: string | null;
  action: ActionName;
  subject: string;
}

export interface ListedAction {
  /** UUIDv7: contains the time. */
  id: string;
  /** Who: an email address, or a token's name. */
  by: string | null;
  /** One of ACTION_NAMES, or a name that a newer version wrote. */
  action: string;
  subject: string;
  /** For a key or a token, its name, which may have changed since; null: the subject is enough. */
  subjectName: string | null;
}

/**
 * Actions that an account may do only this often in 24 hours: each leaves a row here, and has a cost for other processes and
 * people.
 */
const BOUNDED_ACTIONS = {
  key: {
    patterns: ["key.%"],
    max: ACCOUNT_BOUNDS.keyChangesADay,
    sentence: (max: number) =>
      `An account can create, change and rotate keys at most ${max} times in 24 hours. Try again later; keys can still be disabled and deleted.`,
  },
  project: {
    patterns: ["project.%"],
    max: ACCOUNT_BOUNDS.projectChangesADay,
    sentence: (max: number) =>
      `An account can create and rename projects at most ${max} times in 24 hours. Try again later; projects can still be deleted.`,
  },
  budget: {
    patterns: ["account.budget\\_set"],
    max: ACCOUNT_BOUNDS.budgetChangesADay,
    sentence: (max: number) =>
      `An account can set budgets at most ${max} times in 24 hours. Try again later; budgets can still be deleted.`,
  },
  limits: {
    patterns: ["account.limits\\_changed"],
    max: ACCOUNT_BOUNDS.limitChangesADay,
    sentence: (max: number) =>
      `An account can change its limits at most ${max} times in 24 hours. Try again later; keys can still be disabled.`,
  },
  provider_key: {
    patterns: ["provider\\_key.%"],
    max: ACCOUNT_BOUNDS.providerKeyChangesADay,
    sentence: (max: number) =>
      `An account can enter and replace provider keys at most ${max} times in 24 hours. Try again later; provider keys can still be deleted.`,
  },
  settings: {
    patterns: [
      ["account.billing\\_changed", "account.renamed", "account.second\\_factor\\_%", "account.tags\\_%"],
      ["credit.alert\\_changed", "credit.auto\\_top\\_up\\_%", "credit.card\\_%", "member.changed"],
    ].flat(),
    max: ACCOUNT_BOUNDS.settingChangesADay,
    sentence: (max: number) =>
      `An account can change its settings at most ${max} times in 24 hours. Try again later; anything can still be turned off, and members can be removed.`,
  },
  traces: {
    patterns: ["account.traces\\_%"],
    max: ACCOUNT_BOUNDS.traceChangesADay,
    sentence: (max: number) =>
      `An account can add and change trace destinations, and send test traces, at most ${max} times in 24 hours. Try again later; destinations can still be disabled and deleted.`,
  },
  webhook: {
    patterns: ["account.webhook\\_%"],
    max: ACCOUNT_BOUNDS.webhookChangesADay,
    sentence: (max: number) =>
      `An account can add and change webhooks, and send events on request, at most ${max} times in 24 hours. Try again later; webhooks can still be disabled and deleted.`,
  },
} as const satisfies Record<string, { patterns: readonly string[]; max: number; sentence: (max: number) => string }>;

/**
 * Locks the account for a change of it. Call before a key, a project, a budget, a webhook or a trace destination is created or
 * changed, an account's limits or settings are changed, or something is sent on request.
 * @param of what the change counts as; null if it deletes, disables or takes away, which is never limited: anything can always be
 * stopped.
 * @param transaction the one that notes the action: the account's other changes wait for its end.
 * @throws GatewayError `rate_limited` when the account has reached its changes per 24 hours; `permission_denied` if the actor may not
 * make this change any more.
 */
export async function admitChange(
  transaction: Queryable,
  of: keyof typeof BOUNDED_ACTIONS | null,
  actor: Actor,
  permission: Permission,
): Promise<void> {
  // One at a time: concurrent calls would all find room.
  await lockForChange(transaction, actor, permission);
  if (of === null) return;
  const { accountId } = actor;
  const { patterns, max, sentence } = BOUNDED_ACTIONS[of];
  const changes = await transaction.execute(
    "SELECT FROM audit_entry WHERE account_id = $1 AND id > $2 AND action LIKE ANY ($3) LIMIT $4",
    // An id contains its creation time.
    [accountId, uuidv7({ msecs: Date.now() - DAY_MS }), patterns, max],
  );
  if (changes >= max) throw new GatewayError("rate_limited", sentence(max), { headers: { "retry-after": "3600" } });
}

const OWN_CHANGES = [
  "person.passkey_added",
  "person.recovery_codes_made",
  "person.renamed",
  "person.second_factor_on",
] as const satisfies readonly ActionName[];

/**
 * Locks a person for a change of what is theirs in every account. Removing and ending something is never limited.
 * @param transaction the one of the change.
 * @throws GatewayError `rate_limited` when the person has reached their changes per 24 hours.
 */
export async function admitOwnChange(transaction: Queryable, personId: string): Promise<void> {
  await lockPerson(transaction, personId);
  const max = ACCOUNT_BOUNDS.personChangesADay;
  const changes = await transaction.execute(
    "SELECT FROM audit_entry WHERE person_id = $1 AND id > $2 AND action = ANY ($3) LIMIT $4",
    [personId, uuidv7({ msecs: Date.now() - DAY_MS }), OWN_CHANGES, max],
  );
  if (changes >= max)
    throw new GatewayError(
      "rate_limited",
      `You can change your name, second factors and recovery codes at most ${max} times in 24 hours. Try again later; factors can still be removed.`,
      { headers: { "retry-after": "3600" } },
    );
}

export async function noteAction(
  database: Queryable,
  { accountId, personId, tokenId = null, action, subject }: Action,
): Promise<void> {
  await database.execute(
    "INSERT INTO audit_entry (id, account_id, person_id, token_id, action, subject) VALUES ($1, $2, $3, $4, $5, $6)",
    [uuidv7(), accountId, personId, tokenId, action, subject],
  );
}

const HOUR_MS = 3_600_000;

/** Unless the same was noted within the last hour: for reading, which may be repeated without end. */
export async function noteReading(
  database: Queryable,
  { accountId, personId, tokenId = null, action, subject }: Action,
): Promise<void> {
  await database.execute(
    `INSERT INTO audit_entry (id, account_id, person_id, token_id, action, subject)
     SELECT $1, $2, $3, $4, $5, $6 WHERE NOT EXISTS (
       SELECT FROM audit_entry WHERE account_id = $2 AND id >= $7 AND action = $5 AND subject = $6
         AND person_id IS NOT DISTINCT FROM $3 AND token_id IS NOT DISTINCT FROM $4
     )`,
    [uuidv7(), accountId, personId, tokenId, action, subject, lowestIdAt(Date.now() - HOUR_MS)],
  );
}

const BY = "coalesce(email, 'token ' || management_token.name) AS by";
const SUBJECT = `action, subject, coalesce(key_of_subject.name, token_of_subject.name) AS "subjectName"`;
const FROM = `FROM audit_entry LEFT JOIN person ON person.id = person_id
           LEFT JOIN management_token ON management_token.id = token_id
           LEFT JOIN api_key AS key_of_subject ON action LIKE 'key.%' AND key_of_subject.public_id = subject
           LEFT JOIN management_token AS token_of_subject ON action LIKE 'token.%'
             AND token_of_subject.id = CASE WHEN subject ~ '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$' THEN subject::uuid END`;
const ROW = {
  id: z.string(),
  by: z.string().nullable(),
  action: z.string(),
  subject: z.string(),
  subjectName: z.string().nullable(),
};

interface AccountActions {
  accountId: string;
  /** Only this one, or those of this category. */
  action?: ActionFilterName | undefined;
  limit: number;
  /** Continues after the action of this id. */
  beforeId?: string | undefined;
}

/** Actions in an account, newest first. */
export async function listActions(
  database: Queryable,
  { accountId, action, limit, beforeId }: AccountActions,
): Promise<ListedAction[]> {
  return database.query({
    text: `SELECT audit_entry.id, ${BY}, ${SUBJECT} ${FROM}
           WHERE audit_entry.account_id = $1 AND ($2::uuid IS NULL OR audit_entry.id < $2)
             AND ($3::text IS NULL OR split_part(action, '.', 1) = $3) AND ($4::text IS NULL OR action = $4)
           ORDER BY audit_entry.id DESC LIMIT $5`,
    values: [accountId, beforeId ?? null, ...kindOf(action), limit],
    row: z.strictObject(ROW),
  });
}

/** Values of a filter by category and of one by name: at most one of the two. */
function kindOf(action: ActionFilterName | undefined): [string | null, string | null] {
  if (action === undefined) return [null, null];
  return action.includes(".") ? [null, action] : [action, null];
}

export interface OwnAction extends ListedAction {
  /** Its name; null: it concerns no account. */
  account: string | null;
}

/** A person's actions in all accounts, newest first. @param beforeId continues after the action of this id. */
export async function listOwnActions(
  database: Queryable,
  { personId, limit, beforeId }: { personId: string; limit: number; beforeId?: string | undefined },
): Promise<OwnAction[]> {
  return database.query({
    text: `SELECT audit_entry.id, ${BY}, account.name AS account, ${SUBJECT} ${FROM}
           LEFT JOIN account ON account.id = audit_entry.account_id
           WHERE person_id = $1 AND ($2::uuid IS NULL OR audit_entry.id < $2) ORDER BY audit_entry.id DESC LIMIT $3`,
    values: [personId, beforeId ?? null, limit],
    row: z.strictObject({ ...ROW, account: z.string().nullable() }),
  });
}

export interface ListedActionOfAll extends ListedAction {
  /** null: it does not concern a single account. */
  accountId: string | null;
}

/** Only entries that match all of these. */
export interface ActionFilter {
  accountId?: string | undefined;
  /** Email address of the person. */
  person?: string | undefined;
  action?: ActionFilterName | undefined;
  /** UTC days, both included. */
  fromDay?: string | undefined;
  toDay?: string | undefined;
}

/** The same in all accounts, for operators of the service. */
export async function listAllActions(
  database: Queryable,
  { filter, limit, beforeId }: { filter: ActionFilter; limit: number; beforeId?: string | undefined },
): Promise<ListedActionOfAll[]> {
  const { accountId, person, action, fromDay, toDay } = filter;
  return database.query({
    text: `SELECT audit_entry.id, audit_entry.account_id AS "accountId", ${BY}, ${SUBJECT} ${FROM}
           WHERE ($1::text IS NULL OR audit_entry.account_id = $1) AND ($2::uuid IS NULL OR audit_entry.id < $2)
             AND ($3::text IS NULL OR person_id = (SELECT id FROM person WHERE lower(email) = lower($3)))
             AND ($4::text IS NULL OR split_part(action, '.', 1) = $4) AND ($5::text IS NULL OR action = $5)
             AND ($6::uuid IS NULL OR audit_entry.id >= $6) AND ($7::uuid IS NULL OR audit_entry.id < $7)
           ORDER BY audit_entry.id DESC LIMIT $8`,
    values: [
      accountId ?? null,
      beforeId ?? null,
      person ?? null,
      ...kindOf(action),
      fromDay === undefined ? null : lowestIdAt(Date.parse(fromDay)),
      toDay === undefined ? null : lowestIdAt(endOfDay(toDay).getTime()),
      limit,
    ],
    row: z.strictObject({ ...ROW, accountId: z.string().nullable() }),
  });
}
