import { DatabaseError } from "pg";
import { GatewayError } from "../../contract/errors.ts";
import { errorCode } from "../../runtime/error-code.ts";

/** SQLSTATE: it ends the connection, starts or stops, has no room or connection left, only reads, or has waited for too long. */
const AWAY = /^(?:08|53|58)|^(?:25006|25P03|40001|40P01|55P03|57014|57P0[1235])$/;
/** Of sockets. */
const UNREACHABLE = /^(?:ECONN\w+|ENET\w+|EHOST\w+|ENOTFOUND|EAI_AGAIN|ETIMEDOUT|EPIPE)$/;
/** The driver's own errors have no code. */
const LOST = /^(?:Connection terminated|Query read timeout|timeout expired|timeout exceeded)|is not queryable$/;

/**
 * The database cannot be used at this moment, and later it can: as an error for the caller; undefined for every other error. A
 * statement that was canceled because it took too long counts: somebody may hold what it waits for.
 */
export function databaseAway(error: unknown): GatewayError | undefined {
  return isDatabaseAway(error) ? billingUnavailable(error) : undefined;
}

export function billingUnavailable(cause: unknown): GatewayError {
  return new GatewayError("billing_unavailable", "Accounts and usage are temporarily unavailable. Try again in a few seconds.", {
    headers: { "retry-after": "5" },
    cause,
  });
}

/** The same question without a caller to answer. */
export function isDatabaseAway(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  if (error instanceof DatabaseError) return AWAY.test(error.code ?? "");
  // A host with two addresses that both refuse.
  if (error instanceof AggregateError) return error.errors.some(isDatabaseAway);
  return UNREACHABLE.test(errorCode(error) ?? "") || LOST.test(error.message);
}
