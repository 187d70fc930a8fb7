import { expect, test } from "vitest";
import * as z from "zod";
import { GatewayError } from "../../../contract/errors.ts";
import type { FinishedResponse } from "../../../extproc/stored-responses/write-queue.ts";
import { readParts } from "../../../ledger/responses/read-parts.ts";
import { dropExpiredResponses, writeResponses } from "../../../ledger/responses/write-responses.ts";
import { PEPPER } from "../../support/billing/ledger.ts";
import { expire, sealed, useResponseStores } from "./harness-responses.ts";

const storeFor = useResponseStores();
const SECRET = "the launch is on Thursday";
const NOTHING = Buffer.from("[]");
/** Room for anything, and nobody pays. */
const reserve = () => {};
const charge = <Result>(work: () => Result): Result => work();

function turn(id: string, changes: Partial<FinishedResponse> = {}): FinishedResponse {
  const input = Buffer.from(JSON.stringify([{ role: "user", content: `question of ${id}` }]));
  const response = Buffer.from(JSON.stringify({ id, output: [{ id: `msg_${id}`, text: SECRET }] }));
  return { accountId: "acme", storeHours: 2, previousResponseId: null, usedResponseIds: [], input, response, ...changes };
}

const named = (previousResponseId: string | null, ...ids: string[]) => ({
  previousResponseId,
  items: new Map(ids.map((id, index) => [id, `input[${index}].id`])),
});
const referring = (...ids: string[]) => Buffer.from(JSON.stringify(ids.map((id) => ({ type: "item_reference", id }))));

test("a conversation is found from its last response, in order, and its items by their ids", async () => {
  const { store } = await storeFor();
  store.keep(turn("r1"));
  store.keep(turn("r2", { previousResponseId: "r1" }));
  store.keep(turn("r3", { previousResponseId: "r2" }));
  const { turns, usedResponseIds } = await store.recall("acme", { names: named("r3"), own: NOTHING, reserve, charge });
  expect(turns.map(({ input }) => String(input))).toEqual(["r1", "r2", "r3"].map((id) => expect.stringContaining(`of ${id}`)));
  expect(usedResponseIds).toEqual(["r1", "r2", "r3"]);
  const { items } = await store.recall("acme", {
    names: named(null, "msg_r2", "msg_r1"),
    own: referring("msg_r2", "msg_r1"),
    reserve,
    charge,
  });
  expect(JSON.parse(String(items.get("msg_r2")))).toEqual({ id: "msg_r2", text: SECRET });
  expect(items.size).toBe(2);
});

test("memory for recalled items is reserved before any of them is read", async () => {
  const { store, database } = await storeFor();
  store.keep(turn("r1"));
  store.keep(turn("r2", { previousResponseId: "r1" }));
  await store.find("acme", "r2");
  const changed = await database.execute("UPDATE stored_response SET input = reverse(input), response = reverse(response)");
  expect(changed).toBe(2);
  const reserved: number[] = [];
  const refuse = (bytes: number) => {
    reserved.push(bytes);
    throw new GatewayError("rate_limited", "full");
  };
  // Reading fails, because the data was changed.
  for (const names of [named("r2"), named(null, "msg_r1")]) {
    const request = { names, own: referring("msg_r1"), charge };
    await expect(store.recall("acme", { ...request, reserve: refuse })).rejects.toMatchObject({ code: "rate_limited" });
    await expect(store.recall("acme", { ...request, reserve })).rejects.toMatchObject({ code: "overloaded" });
  }
  const sizes = await database.query({
    text: `SELECT sum(octet_length(input) + octet_length(response))::integer AS conversation,
             max(octet_length(response)) FILTER (WHERE response_id = 'r1') AS item FROM stored_response`,
    row: z.strictObject({ conversation: z.int(), item: z.int() }),
  });
  expect(sizes).toEqual([{ conversation: reserved[0], item: reserved[1] }]);
});

test("a conversation of many or large turns is read in pieces, completely", async () => {
  const { store } = await storeFor();
  const content = "a long day ".repeat(200_000);
  const large = Buffer.from(JSON.stringify([{ role: "user", content }]));
  for (let index = 0; index < 30; index += 1)
    store.keep(
      turn(`r${index}`, { previousResponseId: index === 0 ? null : `r${index - 1}`, ...(index % 15 === 7 && { input: large }) }),
    );
  const { turns } = await store.recall("acme", { names: named("r29"), own: NOTHING, reserve, charge });
  expect(turns).toHaveLength(30);
  for (const [index, { input, response }] of turns.entries()) {
    expect(JSON.parse(String(response))).toMatchObject({ id: `r${index}` });
    expect(JSON.parse(String(input))).toEqual([{ role: "user", content: index % 15 === 7 ? content : `question of r${index}` }]);
  }
});

test("the account pays for opening its turns, and the event loop turns in between", async () => {
  let nowMs = 0;
  const { store } = await storeFor(PEPPER, undefined, { nowMs: () => (nowMs += 1) });
  for (let index = 0; index < 30; index += 1)
    store.keep(turn(`r${index}`, { previousResponseId: index === 0 ? null : `r${index - 1}` }));
  await store.recall("acme", { names: named("r29"), own: NOTHING, reserve, charge });
  let charged = 0;
  let loopTurns = 0;
  const count = () => {
    loopTurns += 1;
    counter = setImmediate(count);
  };
  let counter = setImmediate(count);
  const { turns } = await store.recall("acme", {
    names: named("r29"),
    own: NOTHING,
    reserve,
    charge(work) {
      charged += 1;
      return work();
    },
  });
  clearImmediate(counter);
  expect(turns).toHaveLength(30);
  // Each turn has two parts, and the references in them are looked for once.
  expect(charged).toBe(61);
  expect(loopTurns).toBeGreaterThanOrEqual(30);
});

test("a part that was deleted since its size was read is not mistaken for another", async () => {
  const { database } = await storeFor();
  await writeResponses(database, [sealed("acme", "r1", 2_500_000), sealed("acme", "r2", 20)]);
  const parts = [
    { responseId: "gone", part: "input", bytes: 2_500_000 },
    { responseId: "r1", part: "input", bytes: 2_500_000 },
    { responseId: "gone", part: "response", bytes: 0 },
    { responseId: "r1", part: "response", bytes: 0 },
    { responseId: "r2", part: "input", bytes: 21 },
    { responseId: "r2", part: "input", bytes: 20 },
  ] as const;
  const read = await Array.fromAsync(readParts(database, "acme", parts));
  expect(read.map((part) => part?.length)).toEqual([undefined, 2_500_000, undefined, 0, undefined, 20]);
  expect(await Array.fromAsync(readParts(database, "other", parts))).toEqual(parts.map(() => undefined));
});

test("another account can neither find nor delete any of it", async () => {
  const { store } = await storeFor();
  store.keep(turn("r1"));
  expect(String(await store.find("acme", "r1"))).toContain(SECRET);
  expect(String(await store.findInput("acme", "r1"))).toContain("of r1");
  await expect(store.find("other", "r1")).rejects.toMatchObject({ code: "not_found", status: 404 });
  await expect(store.findInput("other", "r1")).rejects.toMatchObject({ code: "not_found", status: 404 });
  await expect(store.remove("other", "r1")).rejects.toMatchObject({ code: "not_found" });
  await expect(store.recall("other", { names: named("r1"), own: NOTHING, reserve, charge })).rejects.toMatchObject({
    code: "previous_response_not_found",
    status: 404,
    field: "previous_response_id",
  });
  await expect(
    store.recall("other", { names: named(null, "msg_r1"), own: referring("msg_r1"), reserve, charge }),
  ).rejects.toMatchObject({
    code: "not_found",
    field: "input[0].id",
  });
  await store.remove("acme", "r1");
  await expect(store.find("acme", "r1")).rejects.toMatchObject({ status: 404 });
});

test("two accounts may have responses with the same id, and each reads its own", async () => {
  const { store } = await storeFor();
  store.keep(turn("r1"));
  store.keep(turn("r1", { accountId: "other", response: Buffer.from('{"id":"r1","output":[{"id":"msg_r1","text":"theirs"}]}') }));
  expect(String(await store.find("acme", "r1"))).toContain(SECRET);
  expect(String(await store.find("other", "r1"))).toContain("theirs");
});

test("the database contains no plain text of it, and another pepper, account or row does not decrypt it", async () => {
  const { store, database } = await storeFor();
  store.keep(turn("r1"));
  store.keep(turn("r2"));
  await store.find("acme", "r1");
  const rows = await database.query({
    text: "SELECT input, response FROM stored_response",
    row: z.strictObject({ input: z.instanceof(Buffer), response: z.instanceof(Buffer) }),
  });
  const bytes = rows.flatMap(({ input, response }) => [String(input), String(response)]).join();
  expect(bytes).not.toContain(SECRET);
  expect(bytes).not.toContain("question");
  const stranger = await storeFor(Buffer.alloc(32, 8), database);
  await expect(stranger.store.find("acme", "r1")).rejects.toMatchObject({ status: 503 });
  await database.execute(
    "UPDATE stored_response SET response = (SELECT response FROM stored_response WHERE response_id = 'r2') WHERE response_id = 'r1'",
  );
  await expect(store.find("acme", "r1")).rejects.toMatchObject({ status: 503 });
});

test("an expired response is not found even before it is deleted, and is deleted with its items", async () => {
  const { store, database } = await storeFor();
  store.keep(turn("r1"));
  store.keep(turn("r2"));
  await store.find("acme", "r2");
  await expire(database, "r1");
  await expect(store.find("acme", "r1")).rejects.toMatchObject({ status: 404 });
  await expect(
    store.recall("acme", { names: named(null, "msg_r1"), own: referring("msg_r1"), reserve, charge }),
  ).rejects.toMatchObject({
    status: 404,
  });
  expect(await dropExpiredResponses(database)).toBe(1);
  const items = await database.query({
    text: 'SELECT item_id AS "itemId" FROM stored_item',
    row: z.strictObject({ itemId: z.string() }),
  });
  expect(items).toEqual([{ itemId: "msg_r2" }]);
});

test("a conversation whose beginning is gone is refused, and the error names the missing response", async () => {
  const { store, database } = await storeFor();
  store.keep(turn("r1"));
  store.keep(turn("r2", { previousResponseId: "r1" }));
  await store.find("acme", "r2");
  await expire(database, "r1");
  await expect(store.recall("acme", { names: named("r2"), own: NOTHING, reserve, charge })).rejects.toMatchObject({
    code: "previous_response_not_found",
    message: expect.stringContaining("'r1'"),
  });
});

test("the message about an id that no response can have, or an item too long for a reference, says so (S21)", async () => {
  const { store } = await storeFor();
  const long = "r".repeat(2_000);
  await expect(store.recall("acme", { names: named(long), own: NOTHING, reserve, charge })).rejects.toMatchObject({
    code: "previous_response_not_found",
    message: expect.stringMatching(/^`previous_response_id` is the id of no response: ids have 1 to 256 characters/),
  });
  for (const find of [store.find, store.findInput, store.remove])
    await expect(find("acme", long)).rejects.toMatchObject({
      code: "not_found",
      message: expect.stringMatching(/^This is the id of no response: ids have 1 to 256 characters/),
    });
  const own = Buffer.from(JSON.stringify([{ type: "item_reference", id: "msg_1", note: long }]));
  await expect(store.recall("acme", { names: named(null, "msg_1"), own, reserve, charge })).rejects.toMatchObject({
    code: "invalid_request",
    field: "input[0].id",
    message: expect.stringContaining("more than 1024 bytes"),
  });
});

test("continuing a response restarts its retention", async () => {
  const { store, database } = await storeFor();
  store.keep(turn("r1"));
  await store.find("acme", "r1");
  await database.execute("UPDATE stored_response SET expires_at = now() + interval '1 minute'");
  store.keep(turn("r2", { previousResponseId: "r1", usedResponseIds: ["r1"] }));
  await store.find("acme", "r2");
  const rows = await database.query({
    text: "SELECT count(*) AS renewed FROM stored_response WHERE expires_at > now() + interval '119 minutes'",
    row: z.strictObject({ renewed: z.bigint() }),
  });
  expect(rows).toEqual([{ renewed: 2n }]);
});

test("an item id that is in two responses refers to neither", async () => {
  const { store } = await storeFor();
  const response = (id: string) => Buffer.from(JSON.stringify({ id, output: [{ id: "msg_0", text: id }] }));
  for (const id of ["r1", "r2"]) store.keep(turn(id, { response: response(id) }));
  await expect(
    store.recall("acme", { names: named(null, "msg_0"), own: referring("msg_0"), reserve, charge }),
  ).rejects.toMatchObject({
    status: 404,
    message: expect.stringContaining("several responses"),
  });
});

test("a response with the same id as an earlier one does not replace it", async () => {
  const { store } = await storeFor();
  store.keep(turn("r1"));
  await store.find("acme", "r1");
  store.keep(turn("r1", { response: Buffer.from('{"id":"r1","output":[]}') }));
  expect(String(await store.find("acme", "r1"))).toContain(SECRET);
});
