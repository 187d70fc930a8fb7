import { expect, test } from "vitest";
import { DATABASE_VARIABLES } from "../../../../ledger/postgres/database-url.ts";
import { readEnv } from "../../../../runtime/env.ts";

const read = (url: string) => readEnv(DATABASE_VARIABLES, { DATABASE_URL: url }).DATABASE_URL;

test.for([
  "postgresql://gateway:se%2Fcret@postgres.example:5432/gateway?sslmode=verify-full",
  "postgres://gateway@[::1]/gateway",
  "postgres://gateway:a b@postgres/gateway",
  "postgresql://%2Fvar%2Frun%2Fpostgresql/gateway",
  "postgresql:///gateway?host=/var/run/postgresql",
  "postgresql://gateway@localhost/gateway?host=/cloudsql/one",
  "postgresql://gateway:se%2Fcret@/gateway?host=/var/run/postgresql",
  "postgres://gateway@/gateway?host=postgres&port=5433&sslmode=disable",
  "postgres://gateway:12%233@postgres/gateway?application_name=a@b",
  "postgres://postgres/gateway?user=gateway@server&password=secret",
  "postgres://postgres/gateway?application_name=a@b",
  "socket:/var/run/postgresql?db=gateway",
  "/var/run/postgresql gateway",
])("%s is an address of a database", (url) => {
  expect(read(url)).toBe(url);
});

test.for([
  ["several hosts with ports", "postgres://gateway:hidden@one:5432,two:5432/gateway?target_session_attrs=read-write"],
  ["several hosts", "postgres://gateway:hidden@one,two/gateway"],
  ["several hosts in a parameter", "postgres:///gateway?password=hidden&host=one,two"],
  ["several hosts after the path", "postgres:///gateway?password=hidden&host=one&host=two"],
  ["a password that is not encoded", "postgres://gateway:hid#den@postgres/gateway"],
  ["a password that begins like a port", "postgres://gateway:12#hid@postgres/gateway"],
  ["a password that begins like a port", "postgres://gateway:12/hid@postgres/gateway"],
  ["a password that begins like a port", "postgres://gateway:12?hid@postgres/gateway"],
  ["a password that begins like a port", "postgres://gateway:#hid@postgres/gateway"],
  ["a password with the end of a user", "postgres://gateway:12@hid/den@postgres/gateway"],
  ["a password in a parameter that is not encoded", "postgres://gateway@postgres/gateway?password=hid#den"],
  ["several hosts of a user", "postgres://gateway:hidden@/gateway?host=one,two"],
  ["a password that is not encoded", "postgres://gateway:hid@/den@postgres/gateway"],
  ["another form of libpq's", "host=postgres user=gateway password=hidden"],
  ["another protocol", "https://gateway:hidden@postgres/gateway"],
] as const)("%s is refused in one sentence, without the password", ([, url]) => {
  const sentence = /^Invalid environment: DATABASE_URL: must be one address, .* percent-encoded\.$/;
  expect(() => read(url)).toThrow(sentence);
  expect(() => read(url)).not.toThrow("hid");
});

test("an empty one is said to be empty", () => {
  expect(() => read("")).toThrow("Invalid environment: DATABASE_URL: must not be empty.");
});
