import { expect, test } from "vitest";
import { checkQuotable, reasonIn } from "../../../../local/postgres/cluster.ts";

test("a cluster that cannot be made says why, not what its last words were", () => {
  const lines = [
    "creating configuration files ... ok",
    '2026-11-28 13:50:14.465 UTC [28188] FATAL:  could not write to file "pg_wal/xlogtemp.28188": No space left on device',
    "child process exited with exit code 1",
    "initdb: removing contents of data directory",
    "running bootstrap script ... ",
  ];
  expect(reasonIn(lines)).toBe('could not write to file "pg_wal/xlogtemp.28188": No space left on device');
  expect(reasonIn(['initdb: error: could not access directory "/data": Permission denied'])).toBe(
    'could not access directory "/data": Permission denied',
  );
  expect(reasonIn(["one", "two", "three", "four"])).toBe("two three four");
});

test("a checkout whose path initdb cannot quote is refused with the remedy", () => {
  for (const name of ['a "b"', "a$b", "a`b", "a\\b"])
    expect(() => checkQuotable(`/home/ann/${name}/bin/initdb`)).toThrow(/^PostgreSQL cannot run from .*: move this checkout\.$/);
  expect(() => checkQuotable("/home/ann/Ünï 'códe' (2) & !/bin/initdb")).not.toThrow();
});
