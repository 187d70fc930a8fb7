import { describeDatabaseFailure, messageOf, type DatabaseFailure } from "../postgres/failure.ts";

/** Why the schema could not be updated. */
export function describeMigrationFailure(error: unknown): DatabaseFailure {
  const known = describeDatabaseFailure(error);
  if (known !== undefined) return known;
  const cause = error instanceof Error && error.cause !== undefined ? error.cause : error;
  const own = messageOf(error).replace(/\.$/, "");
  return { sentence: cause === error ? `${own}.` : `${own}: ${messageOf(cause)}.`, isFinal: false };
}
