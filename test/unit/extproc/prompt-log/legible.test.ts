import { randomBytes } from "node:crypto";
import { describe, expect, test } from "vitest";
import { legible } from "../../../../extproc/prompt-log/legible.ts";

const MAX = 1024 * 1024;

function read(text: string, max = MAX): string {
  return legible(Buffer.from(text), max).text.toString("utf8");
}

const base64 = (bytes: number) => randomBytes(bytes).toString("base64");

describe("what nobody can read is left out", () => {
  test("a picture becomes a note of its size, and the JSON around it stays JSON", () => {
    const picture = base64(6_000);
    const body = {
      messages: [{ role: "user", content: [{ type: "image_url", image_url: { url: `data:image/png;base64,${picture}` } }] }],
    };
    expect(JSON.parse(read(JSON.stringify(body)))).toEqual({
      messages: [
        {
          role: "user",
          content: [{ type: "image_url", image_url: { url: "data:image/png;base64,[8,000 bytes of base64, not recorded]" } }],
        },
      ],
    });
  });

  test.for([0, 1, 17, 255, 511, 512, 513, 1_023])("wherever it begins, as here %d bytes later", (offset) => {
    const before = "word ".repeat(1_000).slice(0, 600 + offset);
    expect(read(`{"a":"${before} ${base64(900)}","b":"after"}`)).toBe(
      `{"a":"${before} [1,200 bytes of base64, not recorded]","b":"after"}`,
    );
  });

  test("several in one body, with escaped slashes and line ends, and the last one without its end", () => {
    const escaped = base64(3_000)
      .replaceAll("/", String.raw`\/`)
      .replaceAll(/.{76}/g, String.raw`$&\r\n`);
    const found = read(`["${base64(1_200)}","text","${escaped}","${base64(1_500)}`);
    expect(found.replaceAll(/[\d,]+ bytes of base64, not recorded/g, "note")).toBe('["[note]","text","[note]","[note]');
  });

  test("a long one is not mixed up with the text behind it", () => {
    const text = "and so on, and on. ".repeat(3_000);
    expect(read(`{"data":"${base64(300_000)}","text":"${text}"}`)).toBe(
      `{"data":"[400,000 bytes of base64, not recorded]","text":"${text}"}`,
    );
  });

  test("words, code, numbers and short ones stay", () => {
    const texts = [
      "a word and another ".repeat(500),
      JSON.stringify(Array.from({ length: 2_000 }, (_, index) => index / 7)),
      "数".repeat(4_000),
      "line_of_code(with_arguments, and/paths)\\n".repeat(300),
      `"${"x".repeat(900)}"`,
      "\0".repeat(5_000),
    ];
    for (const text of texts) expect(read(text)).toBe(text);
  });

  test("bytes that are not UTF-8 stay as they are", () => {
    const bytes = randomBytes(20_000);
    expect(legible(bytes, MAX)).toEqual({ text: bytes, isCut: false });
  });
});

test("what is too long is cut at its end, and says so; pictures do not count", () => {
  expect(legible(Buffer.from("ab ".repeat(100)), 30)).toEqual({ text: Buffer.from("ab ".repeat(10)), isCut: true });
  expect(legible(Buffer.from("ab ".repeat(10)), 30)).toEqual({ text: Buffer.from("ab ".repeat(10)), isCut: false });
  const picture = legible(Buffer.from(`"${base64(30_000)}" and text`), 100);
  expect(picture.text.toString()).toBe('"[40,000 bytes of base64, not recorded]" and text');
  expect(picture.isCut).toBe(false);
  const long = legible(Buffer.from(`${"word ".repeat(400_000)}"${base64(30_000)}"`), MAX);
  expect(long.text).toHaveLength(MAX);
  expect(long.isCut).toBe(true);
});

test("a body with more pictures than are worth their time is cut behind the last note", () => {
  const { text, isCut } = legible(Buffer.from(`"${base64(1_500)}" `.repeat(1_200)), MAX);
  expect(isCut).toBe(true);
  expect(text.toString().split("not recorded")).toHaveLength(1_001);
});

test("the copy does not keep the body in memory", () => {
  const body = Buffer.alloc(100_000, "a b");
  const { text } = legible(body, MAX);
  body.fill(0);
  expect(text.toString("utf8", 0, 6)).toBe("a ba b");
});

test("keys and tokens of the gateway are masked", () => {
  const key = `sk-mg-AbCd${"x".repeat(51)}`;
  const token = `mgmt_${"y".repeat(43)}`;
  expect(read(`{"a":"${key}","b":"my token is ${token}.","c":"ü"}`)).toBe(
    '{"a":"sk-mg-AbCd****","b":"my token is mgmt_****.","c":"ü"}',
  );
});
