import { createCipheriv } from "node:crypto";
import { expect, test } from "vitest";
import { discard } from "../../../runtime/discard.ts";

const BYTES = 64 * 1024;

test.for([
  { name: "of its own", make: () => Buffer.alloc(BYTES) },
  { name: "joined", make: () => Buffer.concat([Buffer.alloc(BYTES), Buffer.alloc(1)]) },
  { name: "decoded", make: () => Buffer.from("00".repeat(BYTES), "hex") },
  {
    name: "encrypted",
    make: () => createCipheriv("aes-256-gcm", Buffer.alloc(32), Buffer.alloc(12)).update(Buffer.alloc(BYTES)),
  },
])("a large buffer ($name) and its parts are empty afterwards, and its memory is free", ({ make }) => {
  const buffer = make();
  const part = buffer.subarray(10, 20);
  const { buffer: memory } = buffer;
  discard(buffer);
  expect([buffer.length, part.length]).toEqual([0, 0]);
  expect(memory).toMatchObject({ detached: true });
  // Once more does nothing.
  discard(buffer);
});

test("a buffer with shared memory keeps it, and so do the others", () => {
  const whole = Buffer.alloc(2 * BYTES, 7);
  const part = whole.subarray(0, BYTES);
  discard(part);
  expect([part.length, whole.at(-1)]).toEqual([BYTES, 7]);
  const small = Buffer.from("small");
  const neighbour = Buffer.from("neighbour");
  discard(small);
  expect([String(small), String(neighbour)]).toEqual(["small", "neighbour"]);
});
