import { DatabaseError } from "pg";
import { errorCode } from "../../runtime/error-code.ts";

export interface MigrationFailure {
  /** One sentence for an administrator. It holds no password. */
  sentence: string;
  /** Trying again cannot help: somebody has to correct the address, the role or the program. */
  isFinal: boolean;
}

/** By SQLSTATE, what an administrator has to correct. */
const REFUSALS: Readonly<Record<string, string>> = {
  "28P01": "Postgres does not accept the password in DATABASE_URL",
  "28000": "Postgres does not let this role in from here",
  "3D000": "The database that DATABASE_URL names does not exist",
  "42501": "The role in DATABASE_URL lacks rights: it must own the schema",
};

const UNREACHABLE = ["ECONNREFUSED", "ENOTFOUND", "EAI_AGAIN", "ETIMEDOUT", "EHOSTUNREACH", "ENETUNREACH", "ECONNRESET"];

/** What kept the schema from being brought up to date. */
export function describeMigrationFailure(error: unknown): MigrationFailure {
  const cause = error instanceof Error && error.cause !== undefined ? error.cause : error;
  const refusal = cause instanceof DatabaseError ? REFUSALS[cause.code ?? ""] : undefined;
  if (refusal !== undefined) return { sentence: `${refusal} (${messageOf(cause)}).`, isFinal: true };
  if (UNREACHABLE.includes(errorCode(cause) ?? ""))
    return { sentence: `Postgres cannot be reached: ${messageOf(cause)}.`, isFinal: false };
  const own = messageOf(error).replace(/\.$/, "");
  return { sentence: cause === error ? `${own}.` : `${own}: ${messageOf(cause)}.`, isFinal: false };
}

function messageOf(error: unknown): string {
  // A host with two addresses that both refuse has its reasons inside.
  if (error instanceof AggregateError && error.message === "") return error.errors.map(messageOf).join(", ");
  return (error instanceof Error ? error.message : String(error)).replaceAll(/\s+/g, " ");
}
