import { DatabaseError } from "pg";
import { expect, test } from "vitest";
import { describeDatabaseFailure } from "../../../../ledger/postgres/failure.ts";

function refusal(code: string, message: string): DatabaseError {
  return Object.assign(new DatabaseError(message, 7, "error"), { code });
}

function socketError(code: string): Error {
  return Object.assign(new Error(`connect ${code}`), { code });
}

test.for([
  ["connect ECONNREFUSED", socketError("ECONNREFUSED")],
  ["write EPIPE", Object.assign(new Error("write EPIPE"), { code: "EPIPE" })],
  ["connect EHOSTDOWN", socketError("EHOSTDOWN")],
  ["connect ECONNABORTED", socketError("ECONNABORTED")],
  ["timeout expired", new Error("timeout expired")],
  ["Connection terminated unexpectedly", new Error("Connection terminated unexpectedly")],
  ["connect ECONNREFUSED, connect ECONNREFUSED", new AggregateError([socketError("ECONNREFUSED"), socketError("ECONNREFUSED")])],
  ["connect ECONNREFUSED", new Error("0001-changes.sql failed", { cause: socketError("ECONNREFUSED") })],
] as const)("an administrator reads that Postgres cannot be reached: %s", ([reason, error]) => {
  expect(describeDatabaseFailure(error)).toEqual({ sentence: `Postgres cannot be reached: ${reason}.`, isFinal: false });
});

test.for([
  ["57P03", "the database system is starting up"],
  ["57P01", "terminating connection due to administrator command"],
  ["53300", "sorry, too many clients already"],
  ["53100", "could not extend file: No space left on device"],
  ["25006", "cannot execute INSERT in a read-only transaction"],
  ["57014", "canceling statement due to statement timeout"],
] as const)("an administrator reads why Postgres cannot be used: %s", ([code, message]) => {
  expect(describeDatabaseFailure(refusal(code, message))).toEqual({
    sentence: `Postgres cannot be used at the moment: ${message}.`,
    isFinal: false,
  });
});

test.for([refusal("28P01", "password authentication failed"), refusal("3D000", 'database "nowhere" does not exist')])(
  "a retry cannot help: %s",
  (error) => {
    expect(describeDatabaseFailure(error)).toMatchObject({ isFinal: true });
  },
);

test.for([refusal("23505", "duplicate key"), new TypeError("not a function"), "text"])("another failure: %s", (error) => {
  expect(describeDatabaseFailure(error)).toBeUndefined();
});
