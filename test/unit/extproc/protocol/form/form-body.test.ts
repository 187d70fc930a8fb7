import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { GatewayError } from "../../../../../contract/errors.ts";
import { parseForm } from "../../../../../extproc/protocol/form/form-body.ts";
import { FORM_RULES } from "../../../../../extproc/protocol/form/form-rules.ts";
import { BOUNDARY, formHeaders, writeForm, type FormPart } from "../../../../support/dashboard/forms.ts";

/** Forms of transcriptions (S54). */
const FILE: FormPart = ["file", { filename: "speech.mp3", bytes: Buffer.from("\r\n--not the boundary\r\n\0\xff", "latin1") }];
const MODEL: FormPart = ["model", "whisper"];

function parse(body: Buffer, headers = formHeaders()) {
  return parseForm(body, headers, FORM_RULES.recording);
}

function refusal(read: () => unknown): { field: string | null; message: string } {
  try {
    read();
  } catch (error) {
    if (error instanceof GatewayError && error.status === 400) return { field: error.field, message: error.message };
    throw error;
  }
  throw new Error("it was accepted");
}

/** @returns false if it is refused as a client's mistake; anything else is thrown. */
function isRead(body: Buffer): boolean {
  try {
    parse(body);
    return true;
  } catch (error) {
    if (error instanceof GatewayError && error.status === 400) return false;
    throw error;
  }
}

/** Raw lines of a form with `\n` for each line break. */
function raw(lines: string): Buffer {
  return Buffer.from(lines.replaceAll("\n", "\r\n").replaceAll("BOUNDARY", `--${BOUNDARY}`), "latin1");
}

const FILE_LINES = 'BOUNDARY\nContent-Disposition: form-data; name="file"; filename="a.mp3"\n\nsound\n';

describe("a form", () => {
  test.for([
    ["model first", [MODEL, FILE]],
    ["model after the file", [FILE, MODEL]],
  ] as const)("is read with its %s, and only the model's name changes", ([, parts]) => {
    const all: FormPart[] = [
      ...parts,
      ["timestamp_granularities[]", "word"],
      ["timestamp_granularities[]", "segment"],
      ["prompt", "Zürich"],
    ];
    const bytes = writeForm(all);
    const body = parse(bytes);
    expect(body.outline).toEqual({ model: "whisper", "timestamp_granularities[]": ["word", "segment"], prompt: "Zürich" });
    expect(body.form.files).toEqual([{ name: "file", bytes: FILE[1] instanceof Object ? FILE[1].bytes : undefined }]);
    const sent = all.map((part): FormPart => (part[0] === "model" ? ["model", "inner-model-of-another-length"] : part));
    expect(body.form.withModel("inner-model-of-another-length").equals(writeForm(sent))).toBe(true);
    expect(body.form.withModel("whisper")).toBe(bytes);
  });

  test.for([
    ["curl, with a quoted boundary", `Multipart/Form-Data; boundary="${BOUNDARY}"`],
    ["another parameter", `multipart/form-data; charset=utf-8; boundary=${BOUNDARY}`],
  ] as const)("is read with a header as %s writes it", ([, type]) => {
    expect(parse(writeForm([MODEL, FILE]), new Map([["content-type", type]])).member("model")).toBe("whisper");
  });

  test.for([
    [
      "names without quotation marks",
      FILE_LINES.replaceAll('"', "") + "BOUNDARY\nContent-Disposition: form-data; name=model\n\nwhisper\nBOUNDARY--\n",
    ],
    ["no line break at the end", FILE_LINES + 'BOUNDARY\nContent-Disposition: form-data; name="model"\n\nwhisper\nBOUNDARY--'],
    [
      "types and lengths of parts",
      FILE_LINES +
        'BOUNDARY\nContent-Type: text/plain; charset=utf-8\nContent-Length: 7\nContent-Disposition: form-data; name="model"\n\nwhisper\nBOUNDARY--\n',
    ],
    [
      "a name in another encoding",
      FILE_LINES.replace('filename="a.mp3"', "filename=\"a.mp3\"; filename*=utf-8''%e2%82%ac.mp3") +
        'BOUNDARY\nContent-Disposition: form-data; name="model"\n\nwhisper\nBOUNDARY--\n',
    ],
    [
      "an empty text",
      FILE_LINES +
        'BOUNDARY\nContent-Disposition: form-data; name="prompt"\n\n\nBOUNDARY\nContent-Disposition: form-data; name="model"\n\nwhisper\nBOUNDARY--\n',
    ],
  ] as const)("may have %s", ([, lines]) => {
    const body = parse(raw(lines));
    expect(body.member("model")).toBe("whisper");
    expect(body.form.files[0]?.bytes.toString()).toBe("sound");
  });

  test("any file passes, whatever bytes it has", () => {
    fc.assert(
      fc.property(
        fc.uint8Array({ minLength: 1, maxLength: 400 }),
        fc.string({ unit: "binary", maxLength: 50 }),
        (file, prompt) => {
          const bytes = Buffer.from(file);
          const body = parse(writeForm([["file", { filename: "a", bytes }], MODEL, ["prompt", prompt]]));
          expect(body.form.files[0]?.bytes.equals(bytes)).toBe(true);
          expect(body.member("prompt")).toBe(prompt);
        },
      ),
    );
  });

  test("cut at any byte it is refused, but for its last line break", () => {
    const bytes = writeForm([MODEL, FILE, ["language", "de"]]);
    const readable = Array.from({ length: bytes.length + 1 }, (_, cut) => cut).filter((cut) =>
      isRead(bytes.subarray(0, bytes.length - cut)),
    );
    expect(readable).toEqual([0, 2]);
  });

  test("with a byte changed it is read or refused, never anything else", () => {
    const bytes = writeForm([MODEL, FILE]);
    fc.assert(
      fc.property(fc.nat(bytes.length - 1), fc.nat(255), (at, byte) => {
        const changed = Buffer.from(bytes);
        changed[at] = byte;
        isRead(changed);
      }),
      { numRuns: 1_000 },
    );
  });
});

describe("refusals name the field and the remedy (S21)", () => {
  test.for([
    ["no file", [MODEL], "file", "is missing"],
    ["an empty file", [MODEL, ["file", { filename: "a.mp3", bytes: Buffer.alloc(0) }]], "file", "is empty"],
    ["a file as a text", [MODEL, ["file", "speech.mp3"]], "file", "-F file=@speech.mp3"],
    ["two files", [MODEL, FILE, FILE], "file", "twice"],
    ["two models", [MODEL, FILE, MODEL], "model", "twice"],
    ["two flags", [MODEL, FILE, ["stream", "false"], ["stream", "true"]], "stream", "twice"],
    ["a model as a file", [FILE, ["model", { filename: "m", bytes: Buffer.from("whisper") }]], "model", "is a file"],
    ["a charset of the others", [MODEL, FILE, ["_charset_", "utf-7"]], "_charset_", "UTF-8"],
    ["another file", [MODEL, FILE, ["audio", { filename: "b", bytes: Buffer.from("b") }]], "audio", "one file"],
  ] as const satisfies [string, FormPart[], string, string][])("%s", ([, parts, field, words]) => {
    const { field: named, message } = refusal(() => parse(writeForm(parts)));
    expect(named).toBe(field);
    expect(message).toContain(words);
  });

  test("a text that is not UTF-8", () => {
    const lines = `${FILE_LINES}BOUNDARY\nContent-Disposition: form-data; name="prompt"\n\n\xff\nBOUNDARY--\n`;
    expect(refusal(() => parse(raw(lines)))).toMatchObject({ field: "prompt", message: expect.stringContaining("UTF-8") });
  });

  test.for([
    ["JSON", "application/json"],
    ["nothing", ""],
    ["another form", "application/x-www-form-urlencoded"],
    ["a form with no boundary", "multipart/form-data"],
    ["a boundary that is too long", `multipart/form-data; boundary=${"b".repeat(71)}`],
    ["two boundaries", `multipart/form-data; boundary=a; boundary=${BOUNDARY}`],
    ["another charset", `multipart/form-data; boundary=${BOUNDARY}; charset=utf-7`],
    ["another charset in quotation marks", `multipart/form-data; Charset="unicode_escape"; boundary=${BOUNDARY}`],
    ["a blank of another kind", `multipart/form-data\xa0; boundary=${BOUNDARY}`],
    ["junk after the boundary", `multipart/form-data; boundary=${BOUNDARY} x`],
  ] as const)("%s as content-type", ([, type]) => {
    expect(refusal(() => parse(writeForm([MODEL, FILE]), new Map([["content-type", type]])))).toMatchObject({
      field: "content-type",
    });
  });

  const part = (header: string) => `${FILE_LINES}BOUNDARY\n${header}\n\nwhisper\nBOUNDARY--\n`;
  const disposition = 'Content-Disposition: form-data; name="model"';
  test.for([
    ["text before it", `preamble\n${FILE_LINES}BOUNDARY--\n`, "does not begin"],
    ["text after it", `${FILE_LINES}BOUNDARY--\nmore`, "text after"],
    ["a boundary that goes on", `${FILE_LINES}BOUNDARYx\n${disposition}\n\nwhisper\nBOUNDARY--\n`, "inside a part"],
    ["a boundary right after a header", `${FILE_LINES}BOUNDARY\n${disposition}\n\nBOUNDARY--\n`, "inside `model`"],
    ["a part in another charset", part(`${disposition}\nContent-Type: text/plain; charset=utf-16`), "other than UTF-8"],
    [
      "a disposition that ends in a blank of another kind",
      part('Content-Disposition: form-data\xa0; name="model"'),
      "no `form-data`",
    ],
    ["no end", FILE_LINES, "ends inside"],
    ["an end inside a header", `${FILE_LINES}BOUNDARY\n${disposition}`, "ends inside the header"],
    ["a long header", part(`${disposition}\nX-A: ${"a".repeat(5_000)}`), "4096 bytes"],
    ["too many parts", FILE_LINES + `BOUNDARY\n${disposition}\n\nw\n`.repeat(300), "256 parts"],
    ["no name", part("Content-Disposition: form-data"), "valid name"],
    ["no disposition", part("Content-Type: text/plain"), "without `content-disposition`"],
    ["two dispositions", part(`${disposition}\n${disposition}`), "two `content-disposition`"],
    ["two names", part(`${disposition}; name="file"`), "two `name`"],
    ["an escaped quotation mark", part(`${disposition}; filename="a\\"; name=\\"b"`), "quotation marks"],
    ["a name in another encoding", part(`Content-Disposition: form-data; name*=utf-8''model`), "cannot be read"],
    ["an attachment", part('Content-Disposition: attachment; name="model"'), "no `form-data`"],
    ["parts in a part", part(`${disposition}\nContent-Type: multipart/mixed; boundary=x`), "parts inside a part"],
    ["base64", part(`${disposition}\nContent-Transfer-Encoding: base64`), "encoded part"],
    ["a folded header", part(`${disposition}\n X-A: b`), "invalid header"],
    ["more text than a form has", part(disposition).replace("whisper", "w".repeat(4_200_000)), "4 MiB"],
  ] as const)("%s", ([, lines, words]) => {
    expect(refusal(() => parse(raw(lines))).message).toContain(words);
  });

  test.for(["\n", "\r", ""])("its boundary after %j alone, which some servers take for one", (lineBreak) => {
    const hidden = `x${lineBreak}--${BOUNDARY}\r\nContent-Disposition: form-data; name="model"\r\n\r\nother`;
    for (const field of ["prompt", "file"]) {
      const value = field === "file" ? { filename: "a.mp3", bytes: Buffer.from(hidden) } : hidden;
      const others = field === "file" ? [MODEL] : [MODEL, FILE];
      expect(refusal(() => parse(writeForm([[field, value], ...others]))).message).toContain(`inside \`${field}\``);
    }
  });

  test("a line break of another system inside a header", () => {
    const body = Buffer.from(
      raw(part(`${disposition}\nX-A: b`))
        .toString("latin1")
        .replace("b\r\n\r\nwhisper", "b\nc\r\n\r\nwhisper"),
      "latin1",
    );
    expect(refusal(() => parse(body)).message).toContain("line break inside the header");
  });
});
