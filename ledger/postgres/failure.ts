import { DatabaseError } from "pg";
import { isDatabaseAway } from "./away.ts";

export interface DatabaseFailure {
  /** One sentence for an administrator. It contains no password. */
  sentence: string;
  /** A retry cannot help: somebody has to correct the address or the role. */
  isFinal: boolean;
}

/** By SQLSTATE, what an administrator has to correct. */
const REFUSALS: Readonly<Record<string, string>> = {
  "28P01": "Postgres does not accept the password in DATABASE_URL",
  "28000": "Postgres rejects connections of this role from this address",
  "3D000": "The database that DATABASE_URL names does not exist",
  "42501": "The role in DATABASE_URL lacks rights: it must own the schema",
};

const UNDEFINED_TABLE = "42P01";

/** Why the database could not be used; undefined for every other error. */
export function describeDatabaseFailure(error: unknown): DatabaseFailure | undefined {
  const cause = error instanceof Error && error.cause !== undefined ? error.cause : error;
  const code = cause instanceof DatabaseError ? cause.code : undefined;
  const refusal = REFUSALS[code ?? ""];
  if (refusal !== undefined) return { sentence: `${refusal} (${messageOf(cause)}).`, isFinal: true };
  if (code === UNDEFINED_TABLE) return { sentence: `The migration has not run yet: ${messageOf(cause)}.`, isFinal: false };
  if (!isDatabaseAway(cause)) return undefined;
  const problem = cause instanceof DatabaseError ? "cannot be used at the moment" : "cannot be reached";
  return { sentence: `Postgres ${problem}: ${messageOf(cause)}.`, isFinal: false };
}

/** Whether Postgres, or the way to it, is at fault. */
export function isDatabaseFailure(error: unknown): boolean {
  return error instanceof DatabaseError || isDatabaseAway(error);
}

export function messageOf(error: unknown): string {
  // A host with two addresses that both refuse contains the individual reasons.
  if (error instanceof AggregateError && error.message === "") return error.errors.map(messageOf).join(", ");
  return (error instanceof Error ? error.message : String(error)).replaceAll(/\s+/g, " ");
}
