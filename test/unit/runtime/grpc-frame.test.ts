import * as fc from "fast-check";
import { expect, test } from "vitest";
import { createFrameReader } from "../../../runtime/grpc-frame.ts";

function frame(message: Buffer): Buffer {
  const header = Buffer.alloc(5);
  header.writeUInt32BE(message.length, 1);
  return Buffer.concat([header, message]);
}

test("messages survive framing, wherever the bytes are split", () => {
  const messages = fc.array(
    fc.uint8Array({ maxLength: 40 }).map((bytes) => Buffer.from(bytes)),
    { maxLength: 8 },
  );
  fc.assert(
    fc.property(messages, fc.array(fc.nat(60)), (messages, steps) => {
      const bytes = Buffer.concat(messages.map(frame));
      const seen: Buffer[] = [];
      const reader = createFrameReader(100, (message) => seen.push(Buffer.from(message)));
      let at = 0;
      for (const step of steps) {
        reader.push(bytes.subarray(at, at + step));
        at = Math.min(at + step, bytes.length);
      }
      reader.push(bytes.subarray(at));
      expect(seen).toEqual(messages);
    }),
  );
});

test("a compressed message and one over the limit are rejected", () => {
  const reader = createFrameReader(10, () => {});
  expect(() => reader.push(Buffer.from([1, 0, 0, 0, 1, 65]))).toThrow("compressed");
  expect(() => createFrameReader(10, () => {}).push(frame(Buffer.alloc(11)))).toThrow("too large");
});
