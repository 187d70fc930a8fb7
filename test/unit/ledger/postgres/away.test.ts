import { DatabaseError } from "pg";
import { expect, test } from "vitest";
import { databaseAway } from "../../../../ledger/postgres/away.ts";

function refusal(code: string): DatabaseError {
  return Object.assign(new DatabaseError("refused", 7, "error"), { code });
}

function socketError(code: string): Error {
  return Object.assign(new Error(code), { code });
}

test.for([
  refusal("53100"),
  refusal("53300"),
  refusal("57P01"),
  refusal("57P03"),
  refusal("57014"),
  refusal("25006"),
  refusal("58030"),
  refusal("08006"),
  socketError("ECONNREFUSED"),
  socketError("ECONNRESET"),
  new AggregateError([socketError("ECONNREFUSED")]),
  new Error("Connection terminated unexpectedly"),
  new Error("timeout exceeded when trying to connect"),
])("the database is away: %s", (error) => {
  expect(databaseAway(error)).toMatchObject({ status: 503, code: "billing_unavailable", headers: { "retry-after": "5" } });
});

test.for([refusal("42P01"), refusal("23505"), refusal("28P01"), new TypeError("not a function"), socketError("ENOENT"), "text"])(
  "another failure: %s",
  (error) => {
    expect(databaseAway(error)).toBeUndefined();
  },
);
