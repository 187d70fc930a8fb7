import { once } from "node:events";
import { PassThrough, Readable } from "node:stream";
import { expect, test } from "vitest";
import { readBody } from "../../../../dashboard/batches/body-stream.ts";

/** Uploads, as they arrive (S58). */
const MEBIBYTE = 1024 * 1024;

const IDLE = { signal: new AbortController().signal, waits: () => {}, got: () => {} };

async function blocksOf(pieces: Iterable<Buffer>, maxBytes = MEBIBYTE): Promise<Buffer[]> {
  return Array.fromAsync(readBody(Readable.from(pieces, { objectMode: false }), { maxBytes, what: "A file", turn: IDLE }));
}

test("a body that comes byte by byte is a few blocks, and one that comes at once is the same (S58)", async () => {
  const bytes = Buffer.from(Array.from({ length: 150_000 }, (_, index) => index % 251));
  const single = await blocksOf(Array.from(bytes, (_, at) => bytes.subarray(at, at + 1)));
  expect(single.length).toBe(3);
  expect(Buffer.concat(single).equals(bytes)).toBe(true);
  expect(Buffer.concat(await blocksOf([bytes])).equals(bytes)).toBe(true);
  expect(await blocksOf([])).toEqual([]);
});

test("a body that is too long is refused (S58)", async () => {
  await expect(blocksOf([Buffer.alloc(MEBIBYTE), Buffer.alloc(1)])).rejects.toThrow("at most 1 MiB");
});

test("a body whose sender is silent ends when its turn is lost, and what comes later is not kept (S58)", async () => {
  const body = new PassThrough();
  body.write("begun");
  const ending = new AbortController();
  let got = 0;
  const turn = { signal: ending.signal, waits: () => {}, got: (bytes: number) => void (got += bytes) };
  const read = Array.fromAsync(readBody(body, { maxBytes: MEBIBYTE, what: "A file", turn }));
  await expect.poll(() => got).toBe(5);
  ending.abort(new Error("too slow"));
  await expect(read).rejects.toThrow("too slow");
  for (let i = 0; i < 20; i++) if (!body.write(Buffer.alloc(64 * 1024))) await once(body, "drain");
  expect(body.readableLength).toBeLessThan(2 * 64 * 1024);
});

test("a body whose sender leaves is their mistake, not an internal error (S58)", async () => {
  const body = new PassThrough();
  body.write("begun");
  const read = Array.fromAsync(readBody(body, { maxBytes: MEBIBYTE, what: "A file", turn: IDLE }));
  body.destroy(new Error("aborted"));
  await expect(read).rejects.toMatchObject({ code: "invalid_request", message: "The upload broke off before its end." });
});
