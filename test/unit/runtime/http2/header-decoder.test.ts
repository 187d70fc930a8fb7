import { expect, test } from "vitest";
import { createHeaderDecoder } from "../../../../runtime/http2/header-decoder.ts";

/** The newest entry of the table. */
const NEWEST = Buffer.from([0xbe]);
const added = (name: string, value: string) =>
  Buffer.concat([Buffer.from([0x40, name.length]), Buffer.from(name), Buffer.from([value.length]), Buffer.from(value)]);

test("a block that comes again says the same, until the table has changed", () => {
  const decoder = createHeaderDecoder();
  const says = (block: Buffer) => Object.fromEntries(decoder.decode(block));
  expect(says(added("a", "1"))).toEqual({ a: "1" });
  expect(says(NEWEST)).toEqual({ a: "1" });
  expect(says(NEWEST)).toEqual({ a: "1" });
  expect(says(added("b", "2"))).toEqual({ b: "2" });
  expect(says(NEWEST)).toEqual({ b: "2" });
  // It adds an entry each time.
  expect(says(added("b", "2"))).toEqual({ b: "2" });
  expect(says(added("b", "2"))).toEqual({ b: "2" });
  expect(says(Buffer.from([0xbf]))).toEqual({ b: "2" });
  expect(says(Buffer.from([0xc0]))).toEqual({ b: "2" });
  expect(says(Buffer.from([0xc1]))).toEqual({ a: "1" });
  // A table of no size forgets all.
  expect(says(NEWEST)).toEqual({ b: "2" });
  expect(says(Buffer.from([0x20]))).toEqual({});
  expect(() => says(NEWEST)).toThrow("a header block names an entry that is not in its table");
});

test("bytes that are used again for another block do not change what was said", () => {
  const decoder = createHeaderDecoder();
  const bytes = Buffer.from([0x82]);
  expect([...decoder.decode(bytes)]).toEqual([[":method", "GET"]]);
  bytes[0] = 0x83;
  expect([...decoder.decode(bytes)]).toEqual([[":method", "POST"]]);
});
