import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { GatewayError } from "../../../../contract/errors.ts";
import { createAnswerRoom } from "../../../../extproc/load/answer-room.ts";

/** What Envoy holds of a complete answer before its end has come (S40). */
const KIBIBYTE = 1024;
const MEBIBYTE = 1024 * KIBIBYTE;

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

function start({ roomBytes = 32 * MEBIBYTE } = {}) {
  const reserved: number[] = [];
  const late: GatewayError[] = [];
  const room = createAnswerRoom({
    reserve(bytes) {
      if (bytes > roomBytes) throw new GatewayError("rate_limited", "There is no room.");
      reserved.push(bytes);
    },
    onLate: (error) => late.push(error),
  });
  return { room, reserved, late };
}

test("what has come is counted, and refused if there is no room (S40)", () => {
  const { room, reserved } = start({ roomBytes: 2 * MEBIBYTE });
  room.grow(100 * KIBIBYTE);
  room.grow(2 * MEBIBYTE);
  expect(() => room.grow(3 * MEBIBYTE)).toThrow("There is no room.");
  expect(reserved).toEqual([100 * KIBIBYTE, 2 * MEBIBYTE]);
});

test("an answer of less than 64 KiB is never refused (S40)", () => {
  const { room, reserved } = start({ roomBytes: 0 });
  room.grow(64 * KIBIBYTE - 1);
  expect(reserved).toEqual([]);
});

test("a minute after its first mebibyte an answer must have ended (S40)", () => {
  const { room, late } = start();
  room.grow(MEBIBYTE - 1);
  vi.advanceTimersByTime(600_000);
  expect(late).toEqual([]);
  room.grow(MEBIBYTE);
  vi.advanceTimersByTime(59_000);
  room.grow(20 * MEBIBYTE);
  vi.advanceTimersByTime(999);
  expect(late).toEqual([]);
  vi.advanceTimersByTime(1);
  expect(late).toMatchObject([{ code: "upstream_timeout", status: 504 }]);
  vi.advanceTimersByTime(600_000);
  expect(late).toHaveLength(1);
});

test("one that has ended is not late", () => {
  const { room, late } = start();
  room.grow(10 * MEBIBYTE);
  room.over();
  room.over();
  vi.advanceTimersByTime(600_000);
  expect(late).toEqual([]);
});
