import { expect, test } from "vitest";
import { createAccountLoad } from "../../../../extproc/load/account-load.ts";
import { createFreeRequests, type FreeRequestRefusal } from "../../../../extproc/load/free-requests.ts";

function setUp() {
  let nowMs = 0;
  const refusals: FreeRequestRefusal[] = [];
  const free = createFreeRequests({ clock: { nowMs: () => nowMs }, onRefused: (reason) => refusals.push(reason) });
  return { free, refusals, pass: (ms: number) => (nowMs += ms) };
}

const limited = (text: string) =>
  expect.objectContaining({ code: "rate_limited", headers: { "retry-after": "1" }, message: expect.stringContaining(text) });

test("an account may make 200 lookups at once and 100 per second, and its flood takes nothing from another account", () => {
  const { free, refusals, pass } = setUp();
  const flood = createAccountLoad();
  for (let index = 0; index < 200; index++) free.lookUp(flood);
  expect(() => free.lookUp(flood)).toThrow(limited("100 times per second"));
  expect(() => free.lookUp(createAccountLoad())).not.toThrow();
  pass(10);
  expect(() => free.lookUp(flood)).not.toThrow();
  expect(() => free.lookUp(flood)).toThrow(limited("100 times per second"));
  expect(refusals).toEqual(["lookups", "lookups"]);
});

test("an account reads 32 MiB of stored responses at once and then one per second; others read theirs", () => {
  const { free, refusals, pass } = setUp();
  const [reader, other] = [createAccountLoad(), createAccountLoad()];
  for (let index = 0; index < 4; index++) free.retrieve(reader)(8 * 1024 * 1024);
  expect(() => free.retrieve(reader)).toThrow(limited("1 MiB per second"));
  expect(() => free.retrieve(other)).not.toThrow();
  pass(1_000);
  free.retrieve(reader)(8 * 1024 * 1024);
  pass(7_000);
  expect(() => free.retrieve(reader)).toThrow(limited("1 MiB per second"));
  pass(1_000);
  expect(() => free.retrieve(reader)).not.toThrow();
  expect(refusals).toEqual(["lookups", "lookups"]);
});

test("an account runs at most two usage reports at once, all accounts four", () => {
  const { free, refusals } = setUp();
  const [flood, second, third] = [createAccountLoad(), createAccountLoad(), createAccountLoad()];
  const slots = [free.report(flood), free.report(flood)];
  expect(() => free.report(flood)).toThrow(limited("already has 2 usage reports in progress"));
  slots.push(free.report(second), free.report(second));
  expect(() => free.report(third)).toThrow(expect.objectContaining({ code: "overloaded", status: 503 }));
  slots[0]?.release();
  slots[0]?.release();
  expect(() => free.report(third)).not.toThrow();
  expect(() => free.report(third)).toThrow(expect.objectContaining({ code: "overloaded" }));
  expect(refusals).toEqual(["reports", "reports_of_all", "reports_of_all"]);
});

test("an account may request 20 usage reports per second, one after another", () => {
  const { free } = setUp();
  const account = createAccountLoad();
  for (let index = 0; index < 40; index++) free.report(account).release();
  expect(() => free.report(account)).toThrow(limited("20 times per second"));
});
