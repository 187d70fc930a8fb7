import { v7 as uuidv7 } from "uuid";
import * as z from "zod";
import { ACCOUNT_BOUNDS } from "../../contract/account-bounds.ts";
import { GatewayError } from "../../contract/errors.ts";
import { seal, unseal } from "../people/sealed.ts";
import type { Queryable, Reader } from "../postgres/database.ts";
import { knownOrOther, OTHER, type OrOther } from "../postgres/known-or-other.ts";
import { lockAccount } from "../accounts/lock-account.ts";

/** "otlp": any server of OpenTelemetry's protocol. "langfuse": its own attributes are sent too. */
export const DESTINATION_KINDS = ["otlp", "langfuse"] as const;
export type DestinationKind = (typeof DESTINATION_KINDS)[number];

/** Name and value; the value may be a secret. */
export type TraceHeader = readonly [name: string, value: string];

/** Where an account's requests are sent to as traces. */
export interface TraceDestination {
  id: string;
  name: string;
  kind: OrOther<DestinationKind>;
  /** Where batches are posted to; of Langfuse, the address of its server. */
  url: string;
  /** In lower case. Their values are shown nowhere. */
  headerNames: string[];
  /** Prompts and answers are sent, of keys whose prompts are logged. */
  includesContent: boolean;
  createdAt: Date;
  /** null: it gets traces. "failures": it accepted nothing for days. */
  disabledBy: OrOther<"owner" | "failures"> | null;
  /** null: the last batch was accepted, or there was none. */
  failingSince: Date | null;
  /** Why the last batch was not accepted. */
  problem: string | null;
  /** What the server remarked about the last accepted batch. */
  remark: string | null;
  nextAttemptAt: Date;
  acceptedAt: Date | null;
  /** Requests that it accepted, that it refused one by one, and that were left out because too many waited, or for too long. */
  sent: bigint;
  rejected: bigint;
  skipped: bigint;
  /** Requests that wait to be sent. */
  waiting: bigint;
}

const destinationRow = z.strictObject({
  id: z.string(),
  name: z.string(),
  kind: knownOrOther(DESTINATION_KINDS),
  url: z.string(),
  headerNames: z.array(z.string()),
  includesContent: z.boolean(),
  createdAt: z.date(),
  disabledBy: knownOrOther(["owner", "failures"]).nullable(),
  failingSince: z.date().nullable(),
  problem: z.string().nullable(),
  remark: z.string().nullable(),
  nextAttemptAt: z.date(),
  acceptedAt: z.date().nullable(),
  sent: z.bigint(),
  rejected: z.bigint(),
  skipped: z.bigint(),
  waiting: z.bigint(),
});
const SELECT = `SELECT id, name, kind, url, header_names AS "headerNames", includes_content AS "includesContent",
  created_at AS "createdAt", disabled_by AS "disabledBy", failing_since AS "failingSince", problem, remark,
  next_attempt_at AS "nextAttemptAt", accepted_at AS "acceptedAt", sent, rejected, skipped,
  CASE WHEN disabled_at IS NULL THEN last_number - cursor ELSE 0 END AS waiting
  FROM trace_destination JOIN trace_account USING (account_id)`;

/** Requests of a batch, unless its destination refuses so many. */
export const MAX_BATCH = 512;

/** Headers are for the server that they were entered for: sealed for one, they do not open for another. */
const about = ({ id, url }: { id: string; url: string }) => `headers of the trace destination ${id} for ${new URL(url).origin}`;

interface Owned {
  accountId: string;
  id: string;
}

/** Oldest first; there are few. */
export async function listDestinations(database: Reader, accountId: string): Promise<TraceDestination[]> {
  return database.query({
    text: `${SELECT} WHERE account_id = $1 ORDER BY created_at, id`,
    values: [accountId],
    row: destinationRow,
  });
}

/** @throws GatewayError `not_found` when the account has no such destination. */
export async function findDestination(database: Reader, { accountId, id }: Owned): Promise<TraceDestination> {
  const [found] = z.uuid().safeParse(id).success
    ? await database.query({ text: `${SELECT} WHERE account_id = $1 AND id = $2`, values: [accountId, id], row: destinationRow })
    : [];
  if (found === undefined) throw new GatewayError("not_found", "This account has no such trace destination.");
  return found;
}

/** One of a kind that this version knows. @throws GatewayError `not_found`; `invalid_request` for others. */
async function findKnown(database: Reader, owned: Owned): Promise<TraceDestination & { kind: DestinationKind }> {
  const found = await findDestination(database, owned);
  const { kind } = found;
  if (kind === OTHER)
    throw new GatewayError(
      "invalid_request",
      "This version of the service cannot send to destinations of this kind. You can disable or delete it.",
    );
  return { ...found, kind };
}

/** Already validated. */
export interface DestinationSettings {
  name: string;
  kind: DestinationKind;
  url: string;
  headers: readonly TraceHeader[];
  includesContent: boolean;
}

/**
 * In a transaction. It gets the requests that are settled from now on.
 * @throws GatewayError `invalid_request` if the account has the maximum number of destinations.
 */
export async function addDestination(
  transaction: Queryable,
  { accountId, pepper, ...settings }: DestinationSettings & { accountId: string; pepper: Buffer },
): Promise<TraceDestination> {
  await lockAccount(transaction, accountId);
  const max = ACCOUNT_BOUNDS.traceDestinations;
  if ((await transaction.execute("SELECT FROM trace_destination WHERE account_id = $1", [accountId])) >= max)
    throw new GatewayError("invalid_request", `An account can have at most ${max} trace destinations. Delete one first.`);
  const { name, kind, url, headers, includesContent } = settings;
  const [id, lastNumber] = [uuidv7(), await startExport(transaction, accountId)];
  await transaction.execute(
    `INSERT INTO trace_destination
       (id, account_id, name, kind, url, header_names, sealed_headers, includes_content, cursor, batch_limit)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, ${MAX_BATCH})`,
    [id, accountId, name, kind, url, namesOf(headers), sealHeaders(headers, { id, url, pepper }), includesContent, lastNumber],
  );
  return findDestination(transaction, { accountId, id });
}

/** Absent members stay unchanged. */
export type DestinationChange = {
  [Name in "name" | "url" | "headers" | "includesContent"]?: DestinationSettings[Name] | undefined;
};

/**
 * In a transaction; the next batch is sent at once, whatever failed before.
 * @throws GatewayError `not_found`; `invalid_request` for a kind of a newer version, and with the field `headers` for another server without new headers: whoever changes
 * the address must not learn them.
 */
export async function changeDestination(
  transaction: Queryable,
  { accountId, id, pepper }: Owned & { pepper: Buffer },
  { name, url, headers, includesContent }: DestinationChange,
): Promise<TraceDestination> {
  const before = await findKnown(transaction, { accountId, id });
  const isMoved = url !== undefined && new URL(url).origin !== new URL(before.url).origin;
  if (isMoved && headers === undefined && before.headerNames.length > 0)
    throw new GatewayError("invalid_request", "Enter the headers again: the stored ones are for another server.", {
      field: "headers",
    });
  await transaction.execute(
    `UPDATE trace_destination SET name = coalesce($2, name), url = coalesce($3, url), header_names = coalesce($4, header_names),
       sealed_headers = coalesce($5, sealed_headers), includes_content = coalesce($6, includes_content),
       batch_limit = ${MAX_BATCH}, next_attempt_at = now(), failures = 0, failing_since = NULL, problem = NULL
     WHERE id = $1`,
    [
      id,
      name ?? null,
      url ?? null,
      headers === undefined ? null : namesOf(headers),
      headers === undefined ? null : sealHeaders(headers, { id, url: url ?? before.url, pepper }),
      includesContent ?? null,
    ],
  );
  return findDestination(transaction, { accountId, id });
}

/** In a transaction. It gets the requests that are settled from now on. @throws GatewayError as `changeDestination`. */
export async function enableDestination(transaction: Queryable, { accountId, id }: Owned): Promise<TraceDestination> {
  await findKnown(transaction, { accountId, id });
  const lastNumber = await startExport(transaction, accountId);
  await transaction.execute(
    `UPDATE trace_destination SET disabled_at = NULL, disabled_by = NULL, is_mail_due = false, cursor = $2,
       batch_limit = ${MAX_BATCH}, next_attempt_at = now(), failures = 0, failing_since = NULL, problem = NULL
     WHERE id = $1 AND disabled_at IS NOT NULL`,
    [id, lastNumber],
  );
  return findDestination(transaction, { accountId, id });
}

/** In a transaction. It gets nothing more, and what waits for it is left out. @throws GatewayError `not_found`. */
export async function disableDestination(
  transaction: Queryable,
  { accountId, id }: Owned,
  by: "owner" | "failures",
): Promise<TraceDestination> {
  await findDestination(transaction, { accountId, id });
  await transaction.execute(
    `UPDATE trace_destination SET disabled_at = now(), disabled_by = $2, is_mail_due = $2 = 'failures'
     WHERE id = $1 AND disabled_at IS NULL`,
    [id, by],
  );
  await endUnusedExport(transaction, accountId);
  return findDestination(transaction, { accountId, id });
}

/** In a transaction. @returns it as it was. @throws GatewayError `not_found`. */
export async function deleteDestination(transaction: Queryable, { accountId, id }: Owned): Promise<TraceDestination> {
  const destination = await findDestination(transaction, { accountId, id });
  await transaction.execute("DELETE FROM trace_destination WHERE id = $1", [id]);
  await endUnusedExport(transaction, accountId);
  return destination;
}

/** All of an account's, in a transaction. */
export async function deleteDestinationsOf(transaction: Queryable, accountId: string): Promise<void> {
  await transaction.execute("DELETE FROM trace_destination WHERE account_id = $1", [accountId]);
  await endUnusedExport(transaction, accountId);
}

export interface DestinationTarget {
  kind: DestinationKind;
  url: string;
  /** undefined: they were sealed with another pepper. */
  headers: TraceHeader[] | undefined;
}

/** @throws GatewayError `not_found`; `invalid_request` for a kind of a newer version. */
export async function readTarget(
  database: Reader,
  { accountId, id, pepper }: Owned & { pepper: Buffer },
): Promise<DestinationTarget> {
  const { kind, url } = await findKnown(database, { accountId, id });
  const [found] = await database.query({
    text: `SELECT sealed_headers AS "sealedHeaders" FROM trace_destination WHERE id = $1`,
    values: [id],
    row: z.strictObject({ sealedHeaders: z.instanceof(Buffer) }),
  });
  return { kind, url, headers: found === undefined ? undefined : openHeaders(found.sealedHeaders, { id, url, pepper }) };
}

/** undefined: they were sealed with another pepper. */
export function openHeaders(
  sealed: Buffer,
  { pepper, ...destination }: { id: string; url: string; pepper: Buffer },
): TraceHeader[] | undefined {
  const text = unseal(sealed, { pepper, about: about(destination) });
  return text === undefined ? undefined : z.array(z.tuple([z.string(), z.string()])).parse(JSON.parse(text));
}

function sealHeaders(
  headers: readonly TraceHeader[],
  { pepper, ...destination }: { id: string; url: string; pepper: Buffer },
): Buffer {
  return seal(JSON.stringify(headers), { pepper, about: about(destination) });
}

function namesOf(headers: readonly TraceHeader[]): string[] {
  return headers.map(([name]) => name);
}

/** From now on, settled requests of the account are queued. @returns the number of its last one before. */
async function startExport(transaction: Queryable, accountId: string): Promise<bigint> {
  const [account] = await transaction.query({
    text: `INSERT INTO trace_account (account_id, is_exported) VALUES ($1, true)
           ON CONFLICT (account_id) DO UPDATE SET is_exported = true RETURNING last_number AS "lastNumber"`,
    values: [accountId],
    row: z.strictObject({ lastNumber: z.bigint() }),
  });
  if (account === undefined) throw new Error(`The account ${accountId} was not stored.`);
  return account.lastNumber;
}

async function endUnusedExport(transaction: Queryable, accountId: string): Promise<void> {
  // Once it is locked, destinations that others add or enable are seen.
  await transaction.execute("SELECT FROM trace_account WHERE account_id = $1 FOR UPDATE", [accountId]);
  await transaction.execute(
    `UPDATE trace_account SET is_exported = false WHERE account_id = $1
     AND NOT EXISTS (SELECT FROM trace_destination WHERE account_id = $1 AND disabled_at IS NULL)`,
    [accountId],
  );
}
