import { DatabaseError } from "pg";

/** Postgres ended one of several conflicting transactions: a retry may succeed. */
export function isSerializationFailure(error: unknown): boolean {
  return error instanceof DatabaseError && (error.code === "40P01" || error.code === "40001");
}

/** `statement_timeout` passed. */
export function isStatementTimeout(error: unknown): boolean {
  return error instanceof DatabaseError && error.code === "57014";
}

/** `lock_timeout` passed. */
export function isLockTimeout(error: unknown): boolean {
  return error instanceof DatabaseError && error.code === "55P03";
}

/** It is a standby, or its administrator lets it only read. */
export function isReadOnly(error: unknown): boolean {
  return error instanceof DatabaseError && error.code === "25006";
}

/**
 * Postgres rejects the data itself (class 22, data exception; class 23, integrity), so that a retry cannot help. Everything else,
 * from a closed connection to a full disk, may pass.
 */
export function isDataRefused(error: unknown): boolean {
  return error instanceof DatabaseError && /^2[23]/.test(error.code ?? "");
}

/** Another row has this value of a unique column. */
export function isUniqueViolation(error: unknown): boolean {
  return error instanceof DatabaseError && error.code === "23505";
}

/** No partition, or a partition's own check, accepts the row. */
export function isCheckViolation(error: unknown): boolean {
  return error instanceof DatabaseError && error.code === "23514";
}
