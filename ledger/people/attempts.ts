import * as z from "zod";
import { GatewayError } from "../../contract/errors.ts";
import type { Database, Queryable } from "../database.ts";

/** Whom a try to sign in is counted against. Both forms also for an address that nobody has: a lock must not tell. */
export interface AttemptSubjects {
  /** "sign-up": links that are mailed to addresses which somebody typed in. Each is counted on its own. */
  purpose?: "sign-in" | "sign-up";
  email: string;
  /** IP address that it comes from. */
  address: string;
}

/** Failures are remembered for a day; so many of them are free, for one e-mail address and from one IP address. */
const WINDOW = "interval '1 day'";
const FREE_BY_EMAIL = 8;
const FREE_BY_ADDRESS = 40;
const FIRST_LOCK_SECONDS = 60;
const LONGEST_LOCK_SECONDS = 3600;

/** How long no one may try after the last of so many failures: a minute, and twice as long each further time. */
export function lockSeconds(failures: number, free: number): number {
  if (failures < free) return 0;
  return Math.min(FIRST_LOCK_SECONDS * 2 ** (failures - free), LONGEST_LOCK_SECONDS);
}

/**
 * Counts a try as failed before the password is looked at, one try at a time: many at once are counted, too.
 * @throws GatewayError `rate_limited` while a lock lasts. A refused try is not counted: waiting is enough.
 */
export async function countAttempt(database: Database, subjects: AttemptSubjects): Promise<void> {
  const [byAddress, byEmail] = subjectsOf(subjects);
  await database.transaction(async (transaction) => {
    // Always in this order: no deadlock.
    for (const subject of [byAddress, byEmail])
      await transaction.execute("SELECT pg_advisory_xact_lock(hashtextextended($1, 0))", [subject]);
    const waitSeconds = Math.max(
      await readLock(transaction, byAddress, FREE_BY_ADDRESS),
      await readLock(transaction, byEmail, FREE_BY_EMAIL),
    );
    if (waitSeconds > 0) throw tooMany(waitSeconds, subjects.purpose);
    await transaction.execute("INSERT INTO sign_in_failure (subject, at) SELECT unnest($1::text[]), clock_timestamp()", [
      [byAddress, byEmail],
    ]);
  });
}

/** The person is in: their failures are forgiven. From an address only this try is, somebody else may be guessing there. */
export async function forgiveAttempts(database: Queryable, subjects: AttemptSubjects): Promise<void> {
  const [byAddress, byEmail] = subjectsOf(subjects);
  await database.execute(
    `DELETE FROM sign_in_failure WHERE subject = $1
       OR ctid = (SELECT ctid FROM sign_in_failure WHERE subject = $2 ORDER BY at DESC LIMIT 1)`,
    [byEmail, byAddress],
  );
}

/** A new password lets its owner in at once. */
export async function forgiveEmail(database: Queryable, email: string): Promise<void> {
  const [, byEmail] = subjectsOf({ email, address: "" });
  await database.execute("DELETE FROM sign_in_failure WHERE subject = $1", [byEmail]);
}

async function readLock(transaction: Queryable, subject: string, free: number): Promise<number> {
  const [row] = await transaction.query({
    text: `SELECT count(*)::int AS failures, coalesce(extract(epoch FROM clock_timestamp() - max(at)), 0)::float8 AS "secondsAgo"
           FROM sign_in_failure WHERE subject = $1 AND at > clock_timestamp() - ${WINDOW}`,
    values: [subject],
    row: z.strictObject({ failures: z.int(), secondsAgo: z.number() }),
  });
  if (row === undefined) return 0;
  return Math.ceil(lockSeconds(row.failures, free) - row.secondsAgo);
}

function subjectsOf({ purpose = "sign-in", email, address }: AttemptSubjects): [byAddress: string, byEmail: string] {
  const before = purpose === "sign-in" ? "" : `${purpose} `;
  return [`${before}address:${address}`, `${before}email:${email.trim().toLowerCase().slice(0, 254)}`];
}

const WORDS = {
  "sign-in": { what: "failed sign-ins", also: ", or reset your password" },
  "sign-up": { what: "links were asked for", also: "" },
} as const;

function tooMany(waitSeconds: number, purpose: keyof typeof WORDS = "sign-in"): GatewayError {
  const minutes = Math.ceil(waitSeconds / 60);
  const wait = minutes === 1 ? "a minute" : `${minutes} minutes`;
  const { what, also } = WORDS[purpose];
  return new GatewayError("rate_limited", `Too many ${what}. Try again in ${wait}${also}.`, {
    headers: { "retry-after": String(waitSeconds) },
  });
}
