import { expect, test } from "vitest";
import { createAdmission } from "../../../extproc/limits/admission.ts";

const setUp = (mostOpen: number, lateMs = () => 0) => createAdmission({ mostOpen, lateMs });
const enter = (admission: ReturnType<typeof setUp>, account: string, times: number) =>
  Array.from({ length: times }, () => admission.enter(account));

test("a full process refuses, with a time to come back, until somebody leaves", () => {
  const admission = setUp(8);
  const places = ["a", "b", "c", "d"].flatMap((account) => enter(admission, account, 2));
  expect(() => admission.enter("e")).toThrow(
    expect.objectContaining({ code: "overloaded", status: 503, headers: { "retry-after": "1" } }),
  );
  places[0]?.leave();
  expect(() => admission.enter("e")).not.toThrow();
});

test("a process that is behind with its work refuses, however few requests it has", () => {
  let lateMs = 250;
  const admission = setUp(8, () => lateMs);
  expect(() => admission.enter("a")).toThrow(expect.objectContaining({ code: "overloaded" }));
  lateMs = 0;
  expect(() => admission.enter("a")).not.toThrow();
});

test("one account fills half of the places at most, and leaves the others theirs", () => {
  const admission = setUp(16);
  enter(admission, "flood", 8);
  expect(() => admission.enter("flood")).toThrow(
    expect.objectContaining({ code: "rate_limited", message: expect.stringContaining("8 requests under way") }),
  );
  for (const account of ["b", "c"]) {
    enter(admission, account, 4);
    expect(() => admission.enter(account)).toThrow(expect.objectContaining({ status: account === "c" ? 503 : 429 }));
  }
});

test("a place is left once, however often that is said", () => {
  const admission = setUp(2);
  const [first] = enter(admission, "a", 1);
  first?.leave();
  first?.leave();
  enter(admission, "a", 1);
  enter(admission, "b", 1);
  expect(() => admission.enter("c")).toThrow(expect.objectContaining({ code: "overloaded" }));
});

test("while the process is strained, the account with most of what runs gets nothing more, and others do", () => {
  let lateMs = 0;
  const admission = setUp(1_000, () => lateMs);
  enter(admission, "flood", 20);
  enter(admission, "other", 10);
  lateMs = 20;
  expect(() => admission.enter("flood")).toThrow(expect.objectContaining({ code: "rate_limited" }));
  enter(admission, "other", 10);
  expect(() => admission.enter("flood")).not.toThrow();
});

test("a few requests are no flood", () => {
  const admission = setUp(1_000, () => 60);
  enter(admission, "other", 1);
  expect(() => enter(admission, "few", 8)).not.toThrow();
  expect(() => admission.enter("few")).toThrow(expect.objectContaining({ code: "rate_limited" }));
});

test("an account that is alone keeps nobody waiting, and may strain the process", () => {
  const admission = setUp(1_000, () => 60);
  expect(() => enter(admission, "alone", 100)).not.toThrow();
  enter(admission, "other", 1);
  expect(() => admission.enter("alone")).toThrow(expect.objectContaining({ code: "rate_limited" }));
});
