import { describe, expect, test } from "vitest";
import { GatewayError } from "../../../../contract/errors.ts";
import { LABEL_BOUNDS, TAGS_HEADER } from "../../../../contract/labels.ts";
import { INTERFACES, type Interface } from "../../../../contract/protocol.ts";
import { readLabels } from "../../../../extproc/labels/read-labels.ts";
import { parseBody } from "../../../../extproc/protocol/json/parse-body.ts";

const LONG_PROMPT = [{ role: "user", content: "word ".repeat(1_000) }];

function read(body: object, { header, protocol = "chat" }: { header?: string; protocol?: Interface } = {}) {
  const headers = new Map(header === undefined ? [] : [[TAGS_HEADER, Buffer.from(header).toString("latin1")]]);
  const bytes = Buffer.from(JSON.stringify({ model: "m", messages: LONG_PROMPT, ...body }));
  return readLabels({ protocol, headers, body: parseBody(bytes, { headers, interface: protocol }) });
}

function refusal(
  body: object,
  options: { header?: string; protocol?: Interface } = {},
): { field: string | null; message: string } {
  try {
    read(body, options);
  } catch (error) {
    if (!(error instanceof GatewayError) || error.code !== "invalid_request") throw error;
    return { field: error.field, message: error.message };
  }
  throw new Error("It was not refused.");
}

const tag = (name: string, value: string) => ({ dimension: `tag:${name}`, value });
const user = (value: string) => ({ dimension: "end_user", value });

test("a request without tags and end user has none (S47)", () => {
  for (const protocol of INTERFACES) expect(read({ user: "", metadata: {} }, { protocol, header: " , " })).toEqual([]);
});

test("tags come from the header and from OpenAI's metadata; the header goes first, and text may be any that is printed (S47)", () => {
  const metadata = {
    env: "prod",
    team: "search",
    retries: 3,
    beta: true,
    empty: " ",
    absent: null,
    nested: { a: 1 },
    list: ["b"],
  };
  expect(read({ metadata }, { header: "team = Wärme 猫, cost-center=a=b" })).toEqual([
    tag("env", "prod"),
    tag("team", "Wärme 猫"),
    tag("retries", "3"),
    tag("beta", "true"),
    tag("cost-center", "a=b"),
  ]);
});

test.for<[Interface, object, string | undefined]>([
  ["chat", { user: "u-1" }, "u-1"],
  ["chat", { user: "u-1", safety_identifier: "s-1" }, "s-1"],
  ["responses", { user: "u-1" }, "u-1"],
  ["responses", { safety_identifier: "s-1" }, "s-1"],
  ["rerank", { user: "u-1", metadata: { team: "no tag here" } }, "u-1"],
  ["embeddings", { user: "u-1", metadata: { team: "no tag here" } }, "u-1"],
  ["image_generation", { user: "u-1", safety_identifier: "s-1" }, "s-1"],
  ["messages", { metadata: { user_id: "m-1", team: "no tag here" } }, "m-1"],
  ["messages", { user: "u-1" }, undefined],
  ["chat", { user: 7 }, undefined],
  ["chat", { metadata: { user_id: "m-1" } }, undefined],
])("the end user of %s with %o is %s (S47)", ([protocol, body, expected]) => {
  const found = read(body, { protocol }).find(({ dimension }) => dimension === "end_user");
  expect(found).toEqual(expected === undefined ? undefined : user(expected));
});

test("ids that are longer than a value may be are told apart by their hash, as coding tools send them", () => {
  const [one, other] = ["a", "b"].map(
    (end) => read({ metadata: { user_id: "x".repeat(600) + end } }, { protocol: "messages" })[0],
  );
  expect(one?.value).toMatch(/^user_[0-9a-f]{64}$/);
  expect(other?.value).toMatch(/^user_[0-9a-f]{64}$/);
  expect(one).not.toEqual(other);
});

describe("what cannot be kept is refused, and the error names where it stands without repeating it (S21)", () => {
  const long = "x".repeat(LABEL_BOUNDS.value + 1);
  test.for<[string, string, RegExp]>([
    ["no equals sign", "team", /no `=` in tag 1/],
    ["an empty value", "a=b, team=", /value in tag 2 that is empty/],
    ["an empty name", "=x", /name in tag 1 that is empty/],
    ["a long name", `${"n".repeat(65)}=x`, /more than 64 characters/],
    ["a long value", `team=${long}`, /more than 256 characters/],
    ["a control character", "team=a\u0007b", /control character/],
    ["a character that turns the text around", "team=a\u202Eb", /control character/],
    ["the same tag twice", "team=a, env=x, team=b", /the second time in tag 3/],
    ["too many tags", Array.from({ length: 17 }, (_, index) => `t${index}=x`).join(","), /more than 16 tags/],
    ["a key of this service", `key=sk-mg-${"a".repeat(40)}`, /looks like a credential/],
    ["a token", "auth=Bearer abc", /looks like a credential/],
  ])("%s in the header", ([, header, message]) => {
    const refused = refusal({}, { header });
    expect(refused).toEqual({ field: TAGS_HEADER, message: expect.stringMatching(message) });
    expect(refused.message).not.toMatch(/sk-mg-a|Bearer abc|xxx|nnn/);
  });

  test.for<[string, Interface, object, string, RegExp]>([
    ["a long value", "chat", { metadata: { note: long } }, "metadata.note", /more than 256 characters/],
    ["a value that the outline leaves out", "responses", { metadata: { note: "y".repeat(9_000) } }, "metadata.note", /256/],
    ["a name with a comma", "chat", { metadata: { "a,b": "x" } }, "metadata", /comma/],
    ["a control character", "responses", { metadata: { team: "a\nb" } }, "metadata.team", /control character/],
    ["half a character", "chat", { metadata: { team: "\uD800" } }, "metadata.team", /control character/],
    ["a credential", "chat", { metadata: { token: `ghp_${"a".repeat(30)}` } }, "metadata.token", /credential/],
    ["a NUL", "chat", { user: "a\0b" }, "user", /control character/],
    ["a credential as user", "messages", { metadata: { user_id: `sk-ant-${"a".repeat(30)}` } }, "metadata.user_id", /credential/],
    ["a huge object", "chat", { metadata: { huge: { text: "z".repeat(70_000) } } }, "metadata", /4096 bytes/],
  ])("%s of %s", ([, protocol, body, field, message]) => {
    const refused = refusal(body, { protocol });
    expect(refused).toEqual({ field, message: expect.stringMatching(message) });
    expect(refused.message).not.toMatch(/xxx|yyy|aaaa/);
  });

  test("tags of header and metadata count together, and so do their bytes", () => {
    const metadata = Object.fromEntries(Array.from({ length: 16 }, (_, index) => [`m${index}`, "x"]));
    expect(read({ metadata })).toHaveLength(16);
    expect(refusal({ metadata }, { header: "one=more" })).toEqual({
      field: TAGS_HEADER,
      message: expect.stringMatching(/16 tags/),
    });
    const wide = Object.fromEntries(Array.from({ length: 6 }, (_, index) => [`m${index}`, "猫".repeat(250)]));
    expect(refusal({ metadata: wide })).toEqual({ field: "metadata", message: expect.stringMatching(/4096 bytes/) });
  });
});
