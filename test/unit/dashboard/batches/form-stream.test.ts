import * as fc from "fast-check";
import { expect, test } from "vitest";
import { boundaryOf, readFormStream } from "../../../../dashboard/batches/form-stream.ts";
import { collectGarbage } from "../../../support/collect-garbage.ts";

/** Forms with files, read as they arrive (S58). */
async function* pieces(bytes: Buffer, sizes: readonly number[]): AsyncGenerator<Buffer> {
  for (let from = 0, turn = 0; from < bytes.length; turn++) {
    const size = sizes[turn % sizes.length] ?? 1;
    yield bytes.subarray(from, from + size);
    from += size;
  }
}

async function read(bytes: Buffer, { boundary = "edge", sizes = [bytes.length] }: { boundary?: string; sizes?: number[] } = {}) {
  const parts: { name: string; fileName: string | null; content: string }[] = [];
  await readFormStream(pieces(bytes, sizes), {
    boundary,
    onPart({ name, fileName }) {
      const content: Buffer[] = [];
      return {
        write: (piece) => void content.push(piece),
        end: () => void parts.push({ name, fileName, content: Buffer.concat(content).toString("latin1") }),
      };
    },
  });
  return parts;
}

async function encode(content: Uint8Array<ArrayBuffer>): Promise<{ bytes: Buffer; boundary: string }> {
  const form = new FormData();
  form.set("purpose", "batch");
  form.set("file", new Blob([content]), 'a "name".jsonl');
  const response = new Response(form);
  const boundary = boundaryOf(response.headers.get("content-type") ?? undefined);
  return { bytes: Buffer.from(await response.arrayBuffer()), boundary };
}

test("a form is the same in whatever pieces it comes, and whatever its file has", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.constantFrom("\r", "\n", "-", "--", "\r\n--", "edge", "x", "ÿ"), { maxLength: 40 }),
      fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1, maxLength: 5 }),
      async (letters, sizes) => {
        const content = letters.join("");
        const { bytes, boundary } = await encode(new Uint8Array(Buffer.from(content, "latin1")));
        expect(await read(bytes, { boundary, sizes })).toEqual([
          { name: "purpose", fileName: null, content: "batch" },
          { name: "file", fileName: 'a "name".jsonl', content },
        ]);
      },
    ),
    { numRuns: 200 },
  );
});

test("a text before the first part is skipped, and empty parts are parts", async () => {
  const form = 'for people\r\n--edge\r\ncontent-disposition: form-data; name="a"\r\n\r\n\r\n--edge--\r\n';
  expect(await read(Buffer.from(form), { sizes: [3] })).toEqual([{ name: "a", fileName: null, content: "" }]);
});

test("a text after the last part is not kept, however long it is (S58)", async () => {
  const piece = Buffer.alloc(256 * 1024, "x");
  collectGarbage();
  const before = process.memoryUsage().arrayBuffers;
  let held = 0;
  async function* form() {
    yield Buffer.from('--edge\r\ncontent-disposition: form-data; name="a"\r\n\r\n\r\n--edge--\r\n');
    for (let count = 0; count < 200; count++) {
      yield piece;
    }
    collectGarbage();
    held = process.memoryUsage().arrayBuffers - before;
  }
  await readFormStream(form(), { boundary: "edge", onPart: () => ({ write() {}, end() {} }) });
  expect(held).toBeLessThan(8 * 1024 * 1024);
});

test("anything but a complete form is refused", async () => {
  const part = '--edge\r\ncontent-disposition: form-data; name="a"\r\n\r\nx\r\n';
  const wrong = ["", "--edge", part, `${part}--edge`, "--edge\r\n\r\nx\r\n--edge--", `--edge\r\n${"x".repeat(9_000)}`];
  for (const form of wrong) await expect(read(Buffer.from(form)), form.slice(0, 40)).rejects.toThrow("multipart/form-data");
  await expect(read(Buffer.from(`${part.repeat(21)}--edge--`))).rejects.toThrow("at most 20 fields");
});

test("a content type without a boundary is refused", () => {
  expect(boundaryOf('multipart/form-data; charset=utf-8; boundary="a b"')).toBe("a b");
  expect(boundaryOf("Multipart/Form-Data;boundary=x")).toBe("x");
  for (const type of [
    undefined,
    "multipart/form-data",
    "application/json; boundary=x",
    `multipart/form-data; boundary=${"x".repeat(71)}`,
  ])
    expect(() => boundaryOf(type), type).toThrow("boundary");
});

test.for([
  ["of a browser", 'filename="a %22b%22%0D%0A.jsonl"', 'a "b"\r\n.jsonl'],
  ["of a browser, with other escapes", 'filename="100%25 %2F%0d.jsonl"', "100%25 %2F\r.jsonl"],
  ["of Python", String.raw`filename="a%22b\\c.jsonl"`, String.raw`a"b\c.jsonl`],
  ["of an old curl", String.raw`filename="a \"b\".jsonl"`, 'a "b".jsonl'],
  ["of Windows, with its folder", String.raw`filename="C:\new\table.jsonl"`, String.raw`C:\new\table.jsonl`],
  ["in UTF-8", 'filename="Übung 日本 🎉.jsonl"', "Übung 日本 🎉.jsonl"],
  ["in both forms", `filename="?bung.jsonl"; filename*=UTF-8''%C3%9Cbung%20%22b%22.jsonl`, 'Übung "b".jsonl'],
  ["in both forms, one of them broken", 'filename="plain.jsonl"; filename*=nothing', "plain.jsonl"],
  ["without quotes", "filename=plain.jsonl", "plain.jsonl"],
] as const)("a file's name %s is what its sender meant (S58)", async ([, parameter, fileName]) => {
  const form = `--edge\r\ncontent-disposition: form-data; name="file"; ${parameter}\r\n\r\n{}\r\n--edge--\r\n`;
  expect(await read(Buffer.from(form))).toEqual([{ name: "file", fileName, content: "{}" }]);
});
