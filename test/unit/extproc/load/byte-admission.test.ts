import { expect, onTestFinished, test, vi } from "vitest";
import { GatewayError } from "../../../../contract/errors.ts";
import { MAX_REQUEST_BYTES } from "../../../../contract/headers.ts";
import { createByteAdmission } from "../../../../extproc/load/byte-admission.ts";

const MEBIBYTE = 1024 * 1024;
const setUp = () => createByteAdmission({ maxBytes: 128 * MEBIBYTE });

function refusal(enter: () => unknown): [string, string | undefined] {
  try {
    enter();
  } catch (error) {
    if (error instanceof GatewayError) return [error.code, error.headers["retry-after"]];
    throw error;
  }
  throw new Error("it was admitted");
}

test("a body is counted from its headers until its request ends, once", () => {
  const admission = setUp();
  const held = admission.enter("a", 10 * MEBIBYTE);
  expect(admission.bytes).toBe(10 * MEBIBYTE);
  held.release();
  held.release();
  held.resize(MEBIBYTE);
  expect(admission.bytes).toBe(0);
});

test("a large answer counts for the time that reading it takes, a small one until its request ends", () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const admission = setUp();
  const large = admission.enter("a", 100);
  large.resize(100 + 8 * MEBIBYTE);
  large.release(8 * MEBIBYTE);
  large.release(8 * MEBIBYTE);
  expect(admission.bytes).toBe(8 * MEBIBYTE);
  vi.advanceTimersByTime(7_900);
  expect(admission.bytes).toBe(8 * MEBIBYTE);
  vi.advanceTimersByTime(200);
  expect(admission.bytes).toBe(0);

  const small = admission.enter("a", 100);
  small.resize(100_000);
  small.release(99_900);
  expect(admission.bytes).toBe(0);
});

test("an account whose answers are not read is refused, and others are served", () => {
  const admission = setUp();
  for (let answers = 0; answers < 3; answers++) admission.enter("a", 100).release(30 * MEBIBYTE);
  expect(refusal(() => admission.enter("a", 100))).toEqual(["rate_limited", "2"]);
  expect(admission.enter("b", 100)).toMatchObject({});
});

test("a body that is too large is refused at its headers", () => {
  expect(refusal(() => setUp().enter("a", MAX_REQUEST_BYTES + 1))).toEqual(["request_too_large", undefined]);
});

test("one of unknown length counts as the largest, until it has arrived", () => {
  const admission = setUp();
  const held = admission.enter("a", null);
  expect(admission.bytes).toBe(MAX_REQUEST_BYTES);
  held.resize(100);
  expect(admission.bytes).toBe(100);
});

test("an account may fill half alone; then it waits, and others are admitted", () => {
  const admission = setUp();
  const first = admission.enter("flood", 32 * MEBIBYTE);
  admission.enter("flood", 32 * MEBIBYTE);
  expect(refusal(() => admission.enter("flood", MEBIBYTE))).toEqual(["rate_limited", "2"]);
  expect(refusal(() => admission.enter("flood", 1))).toEqual(["rate_limited", "2"]);
  admission.enter("other", 30 * MEBIBYTE);
  first.release();
  expect(refusal(() => admission.enter("flood", 32 * MEBIBYTE))).toEqual(["rate_limited", "2"]);
});

test("large bodies leave room for small ones", () => {
  const admission = setUp();
  for (const account of ["a", "b", "c"]) admission.enter(account, 32 * MEBIBYTE);
  expect(refusal(() => admission.enter("d", MEBIBYTE))).toEqual(["overloaded", "2"]);
  for (let count = 0; count < 100; count++) admission.enter(`small-${count}`, 100_000);
  expect(admission.bytes).toBe(96 * MEBIBYTE + 10_000_000);
});

test("received bodies are counted whatever their size, and keep others out", () => {
  const admission = setUp();
  const held = admission.enter("a", 10);
  held.resize(128 * MEBIBYTE);
  expect(refusal(() => admission.enter("b", 1000))).toEqual(["overloaded", "2"]);
  held.release();
  expect(admission.enter("b", null)).toBeDefined();
});

test("a process with less room than the largest body still accepts one at a time", () => {
  const admission = createByteAdmission({ maxBytes: 8 * MEBIBYTE });
  admission.enter("a", MAX_REQUEST_BYTES);
  expect(refusal(() => admission.enter("b", 1))).toEqual(["overloaded", "2"]);
});

test("a body that grows by its references is refused at the same size as any other, and keeps its reservation", () => {
  const admission = setUp();
  const alone = admission.enter("a", 200);
  alone.reserve(32 * MEBIBYTE);
  expect(admission.bytes).toBe(32 * MEBIBYTE);
  alone.reserve(100);
  expect(admission.bytes).toBe(32 * MEBIBYTE);
  const second = admission.enter("a", 200);
  expect(refusal(() => second.reserve(33 * MEBIBYTE))).toEqual(["rate_limited", "2"]);
  for (const account of ["b", "c"]) admission.enter(account, 200).reserve(30 * MEBIBYTE);
  expect(refusal(() => admission.enter("d", 200).reserve(30 * MEBIBYTE))).toEqual(["overloaded", "2"]);
  second.release();
  second.reserve(MEBIBYTE);
  alone.release();
  expect(admission.bytes).toBe(60 * MEBIBYTE + 200);
});
