import { expect, test } from "vitest";
import * as z from "zod";
import { listInputItems } from "../../../../extproc/answers/stored-input-items.ts";

const pageSchema = z.strictObject({
  object: z.literal("list"),
  data: z.array(z.looseObject({ id: z.string(), type: z.string() })),
  first_id: z.string().nullable(),
  last_id: z.string().nullable(),
  has_more: z.boolean(),
});

const list = (items: readonly unknown[], query = "") =>
  pageSchema.parse(JSON.parse(String(listInputItems("resp_1", Buffer.from(JSON.stringify(items)), new URLSearchParams(query)))));
const user = (content: unknown) => ({ role: "user", content });
const idsOf = ({ data }: z.infer<typeof pageSchema>) => data.map(({ id }) => id);

test("items come last first, each with an id and a type, and content as parts", () => {
  const items = [
    user("hello"),
    { type: "message", role: "assistant", content: "hi" },
    { type: "function_call_output", call_id: "c", output: "4" },
    { type: "message", id: "msg_own", role: "user", content: [{ type: "input_text", text: "and now?" }] },
  ];
  expect(list(items)).toEqual({
    object: "list",
    data: [
      { type: "message", id: "msg_own", role: "user", content: [{ type: "input_text", text: "and now?" }] },
      { type: "function_call_output", call_id: "c", output: "4", id: "item_1_2" },
      {
        type: "message",
        role: "assistant",
        content: [{ type: "output_text", text: "hi", annotations: [] }],
        id: "item_1_1",
      },
      { role: "user", content: [{ type: "input_text", text: "hello" }], id: "item_1_0", type: "message" },
    ],
    first_id: "msg_own",
    last_id: "item_1_0",
    has_more: false,
  });
});

test.for(["asc", "desc"])("pages in order %s follow one another until the end", (order) => {
  const items = Array.from({ length: 45 }, (_, index) => user(`m${index}`));
  const seen: string[] = [];
  let after = "";
  for (let page = list(items, `order=${order}`); ; page = list(items, `order=${order}&limit=20${after}`)) {
    seen.push(...idsOf(page));
    if (!page.has_more) break;
    after = `&after=${page.last_id}`;
  }
  const all = items.map((_, index) => `item_1_${index}`);
  expect(seen).toEqual(order === "asc" ? all : all.toReversed());
});

test("an empty page has no ids", () => {
  expect(list([user("a")], "after=item_1_0")).toMatchObject({ data: [], first_id: null, last_id: null, has_more: false });
});

test.for([
  ["limit", "limit=0"],
  ["limit", "limit=101"],
  ["limit", "limit=many"],
  ["order", "order=up"],
  ["after", "after=item_1_7"],
])("an invalid %s is rejected by name: %s", ([field, query]) => {
  expect(() => list([user("a")], query)).toThrow(expect.objectContaining({ code: "invalid_request", field }));
});

test("big integers of an item keep their digits", () => {
  const input = Buffer.from('[{"type":"function_call","call_id":"c","name":"f","arguments":"{}","n":12345678901234567890}]');
  expect(String(listInputItems("resp_1", input, new URLSearchParams()))).toContain("12345678901234567890");
});
