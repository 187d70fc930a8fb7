import * as z from "zod";
import { GatewayError } from "../../contract/errors.ts";
import type { Database, Queryable } from "../postgres/database.ts";
import { clientNetwork } from "./client-network.ts";

/** What a try counts against: this many are free within a day. */
interface Budget {
  subject: string;
  free: number;
  /** Whether a success clears all tries of this subject; for subjects that many people share, it clears only its own. */
  isOwn: boolean;
}

/** A guarded action, with everything that it counts against. */
export interface Attempt {
  /** "8 failed sign-ins": the quantity that is exceeded. */
  what: string;
  /** What to do besides waiting; may be empty. */
  remedy: string;
  budgets: readonly Budget[];
}

const WINDOW = "interval '1 day'";
const FIRST_LOCK_SECONDS = 60;
const LONGEST_LOCK_SECONDS = 3600;

interface From {
  /** IP address. */
  address: string;
}

/**
 * Guesses of a password. Those from browsers that never signed in here must not lock out one that did: it has a budget of
 * its own. All others count even for an address without an account: a lock must not reveal who has one.
 * @param attempt.browserId of a browser in which this person has signed in before.
 */
export function signInAttempt({ email, address, browserId }: From & { email: string; browserId?: string | undefined }): Attempt {
  const words = { what: "failed sign-ins", remedy: ", or reset your password" };
  const person = `email:${normalize(email)}`;
  if (browserId !== undefined) return { ...words, budgets: [own(`browser:${browserId} ${person}`, 8)] };
  const { network } = clientNetwork(address);
  return { ...words, budgets: [...shared("", address, 40), own(`${person} from ${network}`, 8), own(person, 40)] };
}

/** Guesses by a person who is already signed in: they lock only this session. */
export function confirmAttempt(sessionId: string): Attempt {
  return { what: "wrong passwords", remedy: "", budgets: [own(`session:${sessionId}`, 8)] };
}

/** Codes after a correct password. */
export function secondFactorAttempt(personId: string): Attempt {
  return { what: "wrong codes", remedy: "", budgets: [own(`code:${personId}`, 8)] };
}

/** Each costs us a password's hash, and leaves a person in the database. */
export function signUpAttempt({ address }: From): Attempt {
  return { what: "sign-ups from your network", remedy: "", budgets: shared("sign-up ", address, 40) };
}

/** Links sent to an address that a visitor typed in. */
export function linkAttempt({ email, address }: From & { email: string }): Attempt {
  const mailbox = own(`sign-up email:${normalize(email)}`, 8);
  return { what: "links were asked for", remedy: "", budgets: [...shared("sign-up link ", address, 40), mailbox] };
}

/** Emails with a link for a new password, to any address. */
export function resetAttempt({ address }: From): Attempt {
  return { what: "password resets from your network", remedy: "", budgets: shared("reset ", address, 40) };
}

/** Emails that a stranger can trigger, whatever their content. */
export function strangersLetter({ email }: { email: string }): Attempt {
  return { what: "letters to this address", remedy: "", budgets: [own(`letter:${normalize(email)}`, 6)] };
}

function own(subject: string, free: number): Budget {
  return { subject, free, isOwn: true };
}

function shared(purpose: string, from: string, free: number): Budget[] {
  const { address, network } = clientNetwork(from);
  return [
    { subject: `${purpose}address:${address}`, free, isOwn: false },
    { subject: `${purpose}network:${network}`, free: 5 * free, isOwn: false },
  ];
}

function normalize(email: string): string {
  return email.trim().toLowerCase().slice(0, 254);
}

/** How long no one may try after the last of this many failures: a minute, doubling each further time. */
export function lockSeconds(failures: number, free: number): number {
  if (failures < free) return 0;
  return Math.min(FIRST_LOCK_SECONDS * 2 ** (failures - free), LONGEST_LOCK_SECONDS);
}

/**
 * Counts a try as failed before the password is checked, one try at a time, so that concurrent ones are counted, too.
 * @throws GatewayError `rate_limited` while a lock lasts. A rejected try is not counted: waiting is enough.
 */
export async function countAttempt(database: Database, attempt: Attempt): Promise<void> {
  const subjects = attempt.budgets.map(({ subject }) => subject);
  await database.transaction(async (transaction) => {
    // Always in this order: no deadlock.
    for (const subject of subjects.toSorted())
      await transaction.execute("SELECT pg_advisory_xact_lock(hashtextextended($1, 0))", [subject]);
    const waits = await readLocks(transaction, attempt.budgets);
    const waitSeconds = Math.max(0, ...waits);
    if (waitSeconds > 0) throw tooMany(waitSeconds, attempt);
    await transaction.execute("INSERT INTO sign_in_failure (subject, at) SELECT unnest($1::text[]), clock_timestamp()", [
      subjects,
    ]);
  });
}

/**
 * The person is signed in: their failures are forgiven. For a shared address only this try is, because somebody else may be
 * guessing there.
 */
export async function forgiveAttempt(database: Queryable, { budgets }: Attempt): Promise<void> {
  const subjects = (isOwn: boolean) => budgets.filter((budget) => budget.isOwn === isOwn).map(({ subject }) => subject);
  await database.execute(
    `DELETE FROM sign_in_failure WHERE subject = ANY ($1) OR ctid IN (
       SELECT (SELECT ctid FROM sign_in_failure WHERE subject = shared ORDER BY at DESC LIMIT 1) FROM unnest($2::text[]) AS shared)`,
    [subjects(true), subjects(false)],
  );
}

/** A new password lets its owner in at once, from anywhere. */
export async function forgiveEmail(database: Queryable, email: string): Promise<void> {
  const subject = `email:${normalize(email)}`;
  // "!" follows the space: all subjects that continue with " from ".
  await database.execute(
    "DELETE FROM sign_in_failure WHERE subject = $1 OR (subject > $1 || ' from ' AND subject < $1 || ' from!')",
    [subject],
  );
}

/** How many more seconds each lock lasts; zero or less: it does not. */
async function readLocks(transaction: Queryable, budgets: readonly Budget[]): Promise<number[]> {
  const rows = await transaction.query({
    text: `SELECT subject, count(*)::int AS failures, extract(epoch FROM clock_timestamp() - max(at))::float8 AS "secondsAgo"
           FROM sign_in_failure WHERE subject = ANY ($1) AND at > clock_timestamp() - ${WINDOW} GROUP BY subject`,
    values: [budgets.map(({ subject }) => subject)],
    row: z.strictObject({ subject: z.string(), failures: z.int(), secondsAgo: z.number() }),
  });
  const free = new Map(budgets.map((budget) => [budget.subject, budget.free]));
  return rows.map(({ subject, failures, secondsAgo }) => Math.ceil(lockSeconds(failures, free.get(subject) ?? 0) - secondsAgo));
}

function tooMany(waitSeconds: number, { what, remedy }: Attempt): GatewayError {
  const minutes = Math.ceil(waitSeconds / 60);
  const wait = minutes === 1 ? "a minute" : `${minutes} minutes`;
  return new GatewayError("rate_limited", `Too many ${what}. Try again in ${wait}${remedy}.`, {
    headers: { "retry-after": String(waitSeconds) },
  });
}
