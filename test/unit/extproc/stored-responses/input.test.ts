import { expect, test } from "vitest";
import { parseBody } from "../../../../extproc/protocol/json/parse-body.ts";
import { joinInput, ownInput, referencesIn } from "../../../../extproc/stored-responses/input.ts";
import { asksToStore, readStoredNames } from "../../../../extproc/stored-responses/names.ts";

const bodyOf = (members: object) =>
  parseBody(Buffer.from(JSON.stringify({ model: "m", ...members })), { headers: new Map(), interface: "responses" });
const bytes = (value: unknown) => Buffer.from(JSON.stringify(value));
const reference = (id: string) => ({ type: "item_reference", id });
const LONG = "x".repeat(2_000);

test("a text counts as one user message, a list as it is written", () => {
  expect(JSON.parse(String(ownInput(bodyOf({ input: LONG }))))).toEqual([{ role: "user", content: LONG }]);
  const items = [{ role: "user", content: LONG }, reference("msg_1")];
  expect(JSON.parse(String(ownInput(bodyOf({ input: items }))))).toEqual(items);
});

test.for([{}, { input: "" }, { input: null }, { input: 7 }, { input: {} }])("%o has no items of its own", (members) => {
  expect(ownInput(bodyOf(members))).toBeNull();
});

test("a conversation is its turns in order and then the request, with each reference replaced, even in earlier turns", () => {
  const items = new Map([
    ["msg_1", bytes({ id: "msg_1", text: LONG })],
    ["msg_2", bytes({ id: "msg_2" })],
  ]);
  const turns = [
    { input: bytes([{ role: "user", content: "a" }]), response: bytes({ id: "r1", output: [{ id: "msg_0" }] }) },
    { input: bytes([reference("msg_2"), { role: "user", content: "b" }]), response: bytes({ id: "r2", output: [] }) },
  ];
  const sizes: number[] = [];
  const own = bytes([{ id: "msg_1" }, { role: "user", content: "c" }]);
  const joined = joinInput({ turns, own, items }, (size) => sizes.push(size));
  expect(JSON.parse(String(joined))).toEqual([
    { role: "user", content: "a" },
    { id: "msg_0" },
    { id: "msg_2" },
    { role: "user", content: "b" },
    { id: "msg_1", text: LONG },
    { role: "user", content: "c" },
  ]);
  // Room is made for all of it, and for nothing more than the comma that it lacks.
  expect(sizes).toEqual([joined.length + 1]);
});

test("a reference repeated until its item exceeds a request's bounds is refused before anything is written", () => {
  const item = Buffer.from(JSON.stringify({ id: "m", text: "x".repeat(8 * 1024 * 1024) }));
  const own = bytes(Array.from({ length: 5 }, () => reference("m")));
  const reserved: number[] = [];
  const join = () => joinInput({ turns: [], own, items: new Map([["m", item]]) }, (size) => reserved.push(size));
  expect(join).toThrow(expect.objectContaining({ code: "request_too_large", field: "input" }));
  expect(reserved).toEqual([]);
});

test("turns whose items together exceed a request's bounds are refused, although each was small enough", () => {
  const input = bytes(Array.from({ length: 60_000 }, () => 1));
  const turns = [1, 2].map(() => ({ input, response: bytes({ output: [] }) }));
  const tooMany = expect.objectContaining({ code: "request_too_large" });
  expect(() => joinInput({ turns, own: bytes([]), items: new Map() }, () => {})).toThrow(tooMany);
  expect(() => referencesIn(turns.map((turn) => turn.input))).toThrow(tooMany);
});

test("big integers and unknown members of stored items stay as they were written", () => {
  const written = '[{"role":"user","content":"a","n":12345678901234567890}]';
  expect(String(joinInput({ turns: [], own: Buffer.from(written), items: new Map() }, () => {}))).toBe(written);
});

test("references are found with and without a type, and messages are not references", () => {
  expect(
    referencesIn([
      bytes([reference("a"), { id: "b" }, { id: "c", type: null }, { id: "d", role: "user", content: "" }]),
      bytes([reference("a")]),
    ]),
  ).toEqual(new Set(["a", "b", "c"]));
  const named = readStoredNames(
    bodyOf({ previous_response_id: "resp_1", input: [{ role: "user", content: "" }, reference("a")] }),
  );
  expect(named).toEqual({ previousResponseId: "resp_1", items: new Map([["a", "input[1].id"]]) });
});

test.for([
  [{ previous_response_id: 7, input: "a" }, "previous_response_id"],
  [{ input: [{ type: "item_reference" }] }, "input[0].id"],
  [{ input: Array.from({ length: 1_001 }, (_, index) => reference(`msg_${index}`)) }, "input"],
] as const)("an invalid name is a 400 for its field (S21): %#", ([members, field]) => {
  expect(() => readStoredNames(bodyOf(members))).toThrow(expect.objectContaining({ code: "invalid_request", field }));
});

test.for([{ id: "" }, { id: "two words" }, { id: "m".repeat(257) }, { id: "m".repeat(600) }, { id: "m".repeat(2_000) }])(
  "what can be no item's id is not found, and the message says why (S21): %#",
  ({ id }) => {
    const body = bodyOf({ input: [{ role: "user", content: "" }, reference(id)] });
    const message =
      "`input[1].id` is the id of no item: ids have 1 to 256 characters of ASCII, without spaces. Send the item itself.";
    expect(() => readStoredNames(body)).toThrow(expect.objectContaining({ code: "not_found", field: "input[1].id", message }));
  },
);

test("an input that appears twice is refused: recalled items would be inserted into each", () => {
  const body = parseBody(Buffer.from('{"model":"m","previous_response_id":"resp_1","input":"a","input":"b"}'), {
    headers: new Map(),
    interface: "responses",
  });
  expect(() => readStoredNames(body)).toThrow(expect.objectContaining({ code: "invalid_request", field: "input" }));
});

test("responses are stored unless the client says otherwise", () => {
  expect([{}, { store: null }, { store: true }, { store: false }].map((members) => asksToStore(bodyOf(members)))).toEqual([
    true,
    true,
    true,
    false,
  ]);
  expect(() => asksToStore(bodyOf({ store: "yes" }))).toThrow(expect.objectContaining({ field: "store" }));
});
