import { expect, test } from "vitest";
import * as z from "zod";
import { ACCOUNT_BOUNDS } from "../../../contract/account-bounds.ts";
import type { AppDeps } from "../../../dashboard/app-deps.ts";
import { findKey } from "../../../ledger/keys/key-list.ts";
import { createApiKey } from "../../../ledger/keys/keys.ts";
import type { Database } from "../../../ledger/postgres/database.ts";
import { openDashboard } from "../../support/dashboard/dashboard.ts";
import { chosenOf } from "../../support/dashboard/page-fields.ts";
import { PEPPER } from "../../support/billing/ledger.ts";
import { usePostgres } from "../../support/billing/postgres.ts";
import { addPromptRecord } from "../../support/billing/prompt-records.ts";

/** Recorded prompts in the dashboard and the management API (S60); access.test.ts tries each route as each role. */
const postgres = usePostgres();

async function open(options: Partial<AppDeps> = {}) {
  const { database } = await postgres.migrated();
  const dashboard = await openDashboard(database, options);
  const ann = await dashboard.owner("ann@example.com");
  const { accountId, personId } = ann;
  const { publicId: keyId } = await createApiKey(database, { accountId, name: "laptop", pepper: PEPPER, promptLogDays: 7 });
  const api = await dashboard.program(accountId, personId, "owner");
  return { database, dashboard, ann, api, accountId, keyId };
}

const actions = async (database: Database) => {
  const rows = await database.query({
    text: "SELECT action || ' ' || subject AS line FROM audit_entry ORDER BY id",
    row: z.strictObject({ line: z.string() }),
  });
  return rows.map(({ line }) => line).filter((line) => line.includes("prompt"));
};

const daysOf = async (database: Database, accountId: string, publicId: string) =>
  (await findKey(database, { accountId, publicId }))?.promptLogDays;

test("an owner turns it on and off on a key's page; a member can neither choose nor undo it (S60)", async () => {
  const { database, dashboard, ann, accountId, keyId } = await open();
  const path = `/dashboard/keys/${keyId}`;
  const member = await dashboard.inAccount(accountId, "member");
  expect((await ann.get(path)).body).toContain("Keep for 7 days");
  expect((await member.get(path)).body).toContain("Owners of this account can read them for 7 days.");
  expect((await member.get("/dashboard/keys")).body).toContain("Prompts recorded");

  expect((await member.post(path, { name: "renamed" })).statusCode).toBe(303);
  expect(await daysOf(database, accountId, keyId)).toBe(7);
  for (const days of ["", "30"]) expect((await member.post(path, { name: "x", prompt_log: days })).statusCode).toBe(403);
  expect((await member.post("/dashboard/keys/new", { name: "x", prompt_log: "7" })).statusCode).toBe(403);

  expect((await ann.post(path, { name: "laptop", prompt_log: "31" })).body).toContain("Choose a number of days.");
  await ann.post(path, { name: "laptop", prompt_log: "30" });
  expect(await daysOf(database, accountId, keyId)).toBe(30);
  await ann.post(path, { name: "laptop", prompt_log: "" });
  expect(await daysOf(database, accountId, keyId)).toBeNull();
  await ann.post(path, { name: "again", prompt_log: "" });
  expect((await member.get(path)).body).toContain("Prompts and answers are not recorded.");
  expect(await actions(database)).toEqual([`key.prompt_log_on ${keyId}`, `key.prompt_log_off ${keyId}`]);
});

test("the form of a new key, sent as it is, turns no prompt log on; that of a key with one keeps it (S60)", async () => {
  const { database, ann, accountId, keyId } = await open();
  const prompt_log = chosenOf((await ann.get("/dashboard/keys/new")).body, "prompt_log");
  expect(prompt_log).toBe("");
  const created = await ann.post("/dashboard/keys/new", { name: "new", prompt_log });
  const publicId = /sk-mg-([0-9A-Za-z]{12})/.exec(created.body)?.[1] ?? "";
  expect(await daysOf(database, accountId, publicId)).toBeNull();
  expect(chosenOf((await ann.get(`/dashboard/keys/${publicId}`)).body, "prompt_log")).toBe("");
  expect(chosenOf((await ann.get(`/dashboard/keys/${keyId}`)).body, "prompt_log")).toBe("7");
});

test("a record is shown as a conversation, downloaded as it was sent, and its reader is in the audit log (S60)", async () => {
  const { database, ann, accountId, keyId } = await open();
  const request = JSON.stringify({ model: "modelx-v4-pro", messages: [{ role: "user", content: "Why is <b>Rome</b>\0 old?" }] });
  const answer = 'data: {"choices":[{"index":0,"delta":{"content":"Because"}}]}\n\ndata: [DONE]\n\n';
  const requestId = await addPromptRecord(database, { accountId, keyId }, { request, answer, isStream: true, isWhole: false });
  const list = (await ann.get(`/dashboard/prompt-log?key=${keyId}`)).body;
  for (const words of [requestId, "laptop", "modelx-v4-pro", "Cut off"]) expect(list).toContain(words);
  expect((await ann.get("/dashboard/prompt-log?key=AbCd5678WxYz")).body).toContain("No recorded prompts");

  const path = `/dashboard/prompt-log/${requestId}`;
  const page = (await ann.get(path)).body;
  expect(page).toContain("Why is &#60;b&#62;Rome&#60;/b&#62;");
  expect(page).toContain("Because");
  expect(page).not.toContain("<b>Rome");
  const file = await ann.get(`${path}/answer`);
  expect(file.body).toBe(answer);
  expect(file.headers).toMatchObject({
    "content-type": "text/plain; charset=utf-8",
    "content-disposition": `attachment; filename="${requestId}-answer.txt"`,
    "x-content-type-options": "nosniff",
    "cache-control": "no-store",
  });
  expect((await ann.get(`${path}/request`)).body).toBe(request);
  // Somebody who reads it again and again does not fill the audit log.
  expect(await actions(database)).toEqual([`prompt_log.read ${requestId}`]);

  expect((await ann.post(`${path}/delete`)).statusCode).toBe(303);
  expect((await ann.get(path)).statusCode).toBe(404);
  expect((await actions(database)).at(-1)).toBe(`prompt_log.deleted ${requestId}`);
});

test("what no program of ours would send is shown, too, and no page grows without end", async () => {
  const { database, ann, accountId, keyId } = await open();
  const turn = { role: "constructor", content: [{ type: "text", text: "hi" }, { type: "__proto__" }, 5, null] };
  const turns = JSON.stringify({
    messages: Array.from({ length: 20_000 }, () => turn),
    tools: Array.from({ length: 9_000 }, () => ({})),
  });
  for (const request of [turns, `{"messages":${"[".repeat(500_000)}`, "\0".repeat(100_000), Buffer.alloc(900_000, 0xff)]) {
    const requestId = await addPromptRecord(database, { accountId, keyId }, { request, answer: request });
    const page = await ann.get(`/dashboard/prompt-log/${requestId}`);
    expect(page.statusCode).toBe(200);
    expect(page.body.length).toBeLessThan(12_000_000);
    expect(page.body).not.toContain("native code");
  }
});

test("all of a key's records are deleted from its page", async () => {
  const { database, ann, accountId, keyId } = await open();
  for (let each = 0; each < 3; each += 1) await addPromptRecord(database, { accountId, keyId });
  const path = `/dashboard/keys/${keyId}/prompt-log/delete`;
  expect((await ann.get(path)).body).toContain("Delete all recorded prompts of “laptop”?");
  expect((await ann.post(path)).statusCode).toBe(303);
  expect((await ann.get("/dashboard/prompt-log")).body).toContain("No recorded prompts");
  expect(await actions(database)).toEqual([`key.prompt_log_deleted ${keyId}`]);
  // Without any, it counts as a change of the key; with some, it always works.
  await database.execute(
    `INSERT INTO audit_entry (id, account_id, person_id, action, subject)
     SELECT uuidv7(), $1, $2, 'key.changed', $3 FROM generate_series(1, $4::int)`,
    [accountId, ann.personId, keyId, ACCOUNT_BOUNDS.keyChangesADay],
  );
  expect((await ann.post(path)).statusCode).toBe(429);
  await addPromptRecord(database, { accountId, keyId });
  expect((await ann.post(path)).statusCode).toBe(303);
});

test("programs turn it on, list, read and delete (S60)", async () => {
  const { database, dashboard, api, accountId, ann } = await open();
  const made = await api.call("POST", "/api/v1/keys", { name: "ci", prompt_log_days: 3 });
  const { id } = z.object({ id: z.string() }).parse(made.json());
  expect(made.json()).toMatchObject({ prompt_log_days: 3 });
  for (const days of [0, 31, 1.5]) {
    const refused = await api.call("PATCH", `/api/v1/keys/${id}`, { prompt_log_days: days });
    expect(refused.json()).toMatchObject({ error: { type: "invalid_request", field: "prompt_log_days" } });
  }
  const member = await dashboard.program(accountId, (await dashboard.inAccount(accountId, "member")).personId, "member");
  expect((await member.call("PATCH", `/api/v1/keys/${id}`, { prompt_log_days: null })).statusCode).toBe(403);
  expect((await member.call("PATCH", `/api/v1/keys/${id}`, { name: "renamed" })).json()).toMatchObject({ prompt_log_days: 3 });

  const invalid = Buffer.from([0x22, 0xff, 0x00, 0x22]);
  const ids: string[] = [];
  for (let each = 0; each < 3; each += 1)
    ids.unshift(await addPromptRecord(database, { accountId, keyId: id }, { request: invalid, answer: null, status: null }));
  const first = await api.get(`/api/v1/prompt-log?key=${id}&limit=2`);
  const listed = z
    .object({ data: z.array(z.looseObject({ request_id: z.string() })), next_cursor: z.string() })
    .parse(first.json());
  expect(listed.data.map((each) => each.request_id)).toEqual(ids.slice(0, 2));
  expect(listed.data[0]).not.toHaveProperty("request");
  const second = await api.get(`/api/v1/prompt-log?key=${id}&limit=2&cursor=${listed.next_cursor}`);
  expect(second.json()).toMatchObject({ data: [{ request_id: ids[2], status: null, request_bytes: 4 }], next_cursor: null });

  expect((await api.get(`/api/v1/prompt-log/${ids[0]}`)).json()).toMatchObject({
    request: { text: '"\u{FFFD}\0"', is_truncated: false },
    answer: null,
  });
  expect((await api.call("DELETE", `/api/v1/prompt-log/${ids[0]}`)).statusCode).toBe(204);
  expect((await api.get(`/api/v1/prompt-log/${ids[0]}`)).statusCode).toBe(404);
  expect((await api.get("/api/v1/prompt-log/0199aaaa-0000-4000-8000-000000000001")).statusCode).toBe(404);
  expect((await api.call("DELETE", `/api/v1/keys/${id}/prompt-log`)).statusCode).toBe(204);
  expect((await api.get("/api/v1/prompt-log")).json()).toEqual({ data: [], next_cursor: null });
  expect((await ann.get("/dashboard/settings")).body).toContain("Read a recorded prompt");
});

test("where the operator has turned it off, nobody turns it on, and pages say so", async () => {
  const { database, ann, api, accountId, keyId } = await open({ maxPromptLogBytes: 0 });
  expect((await ann.get(`/dashboard/keys/${keyId}`)).body).toContain(
    "the operator of this service has turned the prompt log off",
  );
  expect((await ann.get("/dashboard/keys/new")).body).not.toContain("Prompt log");
  expect((await ann.get("/dashboard/prompt-log")).body).toContain("nothing is recorded");
  const refused = await ann.post("/dashboard/keys/new", { name: "new", prompt_log: "7" });
  expect(refused.statusCode).toBe(400);
  const patched = await api.call("PATCH", `/api/v1/keys/${keyId}`, { prompt_log_days: 3 });
  expect(patched.json()).toMatchObject({ error: { field: "prompt_log_days" } });
  expect((await api.call("PATCH", `/api/v1/keys/${keyId}`, { prompt_log_days: null })).statusCode).toBe(200);
  expect(await daysOf(database, accountId, keyId)).toBeNull();
});
