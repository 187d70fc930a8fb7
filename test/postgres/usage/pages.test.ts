import { v7 as uuidv7 } from "uuid";
import { expect, test } from "vitest";
import { ACCOUNT_BOUNDS } from "../../../contract/account-bounds.ts";
import { tagDimension } from "../../../contract/labels.ts";
import { publishModels } from "../../../ledger/models/catalogue.ts";
import { createApiKey, revokeApiKey } from "../../../ledger/keys/keys.ts";
import { noteAction } from "../../../ledger/people/audit.ts";
import { settle } from "../../../ledger/settlement/settle.ts";
import { OUTCOMES, type Settlement } from "../../../ledger/settlement/settlement.ts";
import { openDashboard } from "../../support/dashboard/dashboard.ts";
import { catalogueModel, PEPPER, PRICE, settlementOf } from "../../support/billing/ledger.ts";
import { usePostgres } from "../../support/billing/postgres.ts";
import { DAY_MS, dayOf, daysBefore } from "../../../contract/days.ts";
import { usageByMember } from "../../../ledger/usage/member-series.ts";

/** Billing & Usage, read as a browser gets it (S27). */
const postgres = usePostgres();

async function open() {
  const { database } = await postgres.migrated();
  const models = ["modelx-v4-pro", "modelx-chat"].map((name) => ({ model: catalogueModel(name), price: PRICE }));
  await publishModels(database, models);
  const dashboard = await openDashboard(database);
  const ann = await dashboard.owner("ann@example.com");
  const { accountId } = ann;
  const keys = [
    await createApiKey(database, { accountId, name: "laptop", pepper: PEPPER }),
    await createApiKey(database, { accountId, name: "server", pepper: PEPPER }),
  ].map(({ publicId }) => publicId);
  const use = async (keyId = "", changes: Partial<Settlement> = {}) => {
    const settlement = settlementOf({ accountId, keyId }, changes);
    await settle(database, [settlement]);
    return settlement.requestId;
  };
  return { ...dashboard, database, ann, keys, use };
}

/** Without the entities that attributes are written with. */
const plain = (body: string) => body.replace(/&#(\d+);/g, (_, code: string) => String.fromCodePoint(Number(code)));

/** Ids of the requests that a page lists. */
function listed(body: string): string[] {
  return [...body.matchAll(/href="\/dashboard\/usage\/requests\/([0-9a-f-]{36})"/g)].map(([, id = ""]) => id);
}

test("each status that the list shows is a choice of its filter, which lists the requests that show it, and no others", async () => {
  const { ann, keys, use } = await open();
  await ann.post("/dashboard/settings/tags", { isOn: "yes" });
  const labels = [{ dimension: tagDimension("team"), value: "search" }];
  for (const outcome of OUTCOMES) await use(keys[0], { outcome, labels });
  await use(keys[0], { outcome: "complete", httpStatus: 400, labels });
  await use(keys[0], { outcome: "failed", httpStatus: 503, labels });
  const shown = (body: string) =>
    [...body.matchAll(/data-label="Status">\s*<span\s*><span class="badge[^>]*>([^<]+)</g)].map(([, words = ""]) => words);
  const { body } = await ann.get("/dashboard/usage/requests");
  const choice = /<select name="outcome">[^]*?<\/select>/.exec(body)?.[0] ?? "";
  const options = [...choice.matchAll(/value="(\w+)"[^>]*>([^<]+)</g)].map(([, value = "", words = ""]) => ({ value, words }));
  expect(options.map(({ words }) => words).toSorted()).toEqual([...new Set(shown(body))].toSorted());
  for (const { value, words } of options)
    for (const more of ["", "&tag=team%3Dsearch", `&key=${keys[0]}`]) {
      const page = await ann.get(`/dashboard/usage/requests?outcome=${value}${more}`);
      expect([value, more, shown(page.body)]).toEqual([value, more, shown(body).filter((status) => status === words)]);
      expect((await ann.get(`/dashboard/usage/csv/requests?outcome=${value}${more}`)).body.trim().split("\n")).toHaveLength(
        1 + shown(page.body).length,
      );
    }
});

test("requests are filtered by key, model and result, on the page and in its file; the address keeps the filters", async () => {
  const { ann, keys, use } = await open();
  const [laptop = "", server = ""] = keys;
  const first = await use(laptop);
  const chat = await use(laptop, { model: "modelx-chat" });
  const aborted = await use(server, { outcome: "aborted" });
  const path = "/dashboard/usage/requests";
  const get = async (query: string) => listed((await ann.get(`${path}?${query}`)).body);
  expect(await get("")).toEqual([aborted, chat, first]);
  expect(await get(`key=${laptop}`)).toEqual([chat, first]);
  expect(await get("model=modelx-chat")).toEqual([chat]);
  expect(await get("outcome=aborted")).toEqual([aborted]);
  expect(await get(`key=${laptop}&outcome=aborted&model=`)).toEqual([]);
  // An impossible filter is ignored on the page, and refused for a file.
  expect(await get("outcome=sold")).toHaveLength(3);
  expect((await ann.get("/dashboard/usage/csv/requests?outcome=sold")).statusCode).toBe(400);

  const { body } = await ann.get(`${path}?outcome=aborted&range=7d`);
  expect(body).toMatch(/<option value="aborted" selected>Canceled/);
  expect(plain(body)).toContain("/dashboard/usage/requests?range=today&outcome=aborted");
  const file = await ann.get("/dashboard/usage/csv/requests?range=7d&outcome=aborted&key=&model=");
  expect(file.body.trim().split("\n")).toHaveLength(2);
  expect(file.body).toContain(aborted);
});

test("requests of deleted keys, and of others than the newest ones, are listed by the names of their keys, which filters keep", async () => {
  const { ann, database, keys, use } = await open();
  const [laptop = "", server = ""] = keys;
  for (const keyId of keys) await use(keyId);
  await revokeApiKey(database, laptop);
  await database.execute(
    `INSERT INTO api_key (public_id, account_id, name, secret_hash, created_at)
     SELECT 'newer' || lpad(number::text, 7, '0'), $1, 'newer', sha256(number::text::bytea), now() + interval '1 minute'
     FROM generate_series(1, ${ACCOUNT_BOUNDS.keys}) AS number`,
    [ann.accountId],
  );
  const { body } = await ann.get("/dashboard/usage/requests");
  for (const [keyId, name] of [
    [laptop, "laptop"],
    [server, "server"],
  ] as const) {
    expect(body).toMatch(new RegExp(`data-label="Key">\\s*(<[^>]*>\\s*)*${name}<`));
    for (const path of ["usage/requests", "prompt-log"])
      expect((await ann.get(`/dashboard/${path}?key=${keyId}`)).body).toMatch(
        new RegExp(`<option value="${keyId}" selected>${name}<`),
      );
  }
});

test("a request's own page has the tokens of each class, the price and how the charge adds up", async () => {
  const { ann, keys, use, owner } = await open();
  const usage = { inputTokens: 200, cachedInputTokens: 800, cacheWriteTokens: 3, outputTokens: 1500, reasoningTokens: 1200 };
  const id = await use(keys[0], { usage, isEstimated: true, chargeNanoUsd: 1_884_900n, outcome: "stopped", firstTokenMs: 120 });
  const { statusCode, body } = await ann.get(`/dashboard/usage/requests/${id}`);
  expect(statusCode).toBe(200);
  const text = body.replace(/<[^>]*>/g, " ").replace(/\s+/g, " ");
  for (const words of [
    id,
    "laptop",
    "Status Out of credit. Your credit ran out mid-response. What was delivered until then is charged.",
    "HTTP status 200",
    "Price version 1",
    "0.120 s",
    "Input 200 $0.30 $0.0000600",
    "Cached input 800 $0.03 $0.0000240",
    "Cache write 3 $0.30 $0.0000009",
    "Output 1,500 $1.20 $0.0018000",
    "Charged: $0.001884900",
    "1,200 reasoning tokens",
    "the gateway counted it",
  ])
    expect.soft(text).toContain(words);

  const eve = await owner("eve@example.com");
  for (const [who, other] of [
    [eve, id],
    [ann, uuidv7()],
    [ann, "1"],
    [ann, "00000000-0000-4000-8000-000000000000"],
    [ann, "ffffffff-ffff-7fff-bfff-ffffffffffff"],
  ] as const)
    expect((await who.get(`/dashboard/usage/requests/${other}`)).statusCode).toBe(404);
});

test.for([
  `after=${"-".repeat(36)}.1`,
  `after=${"0".repeat(36)}.1`,
  "after=ffffffff-ffff-7fff-bfff-ffffffffffff.1",
  "range=custom&from=0000-01-01&to=0000-01-02",
  "range=custom&from=9999-12-31&to=9999-12-31",
  "range=custom&from=2999-12-31&to=2999-12-31",
])("a list with ?%s is a list", async (query) => {
  const { ann } = await open();
  for (const path of ["usage", "usage/requests", "usage/csv/requests"])
    expect((await ann.get(`/dashboard/${path}?${query}`)).statusCode).toBe(200);
});

test("usage is drawn by key and by token class, and for one series alone; an invalid choice counts as the default", async () => {
  const { ann, keys, use } = await open();
  await use(keys[0]);
  await use(keys[0]);
  await use(keys[1]);
  const get = async (query: string) => (await ann.get(`/dashboard/usage?${query}`)).body;
  for (const range of ["today", "7d", "30d"]) {
    const byKey = await get(`range=${range}&unit=requests&by=key`);
    expect(byKey).toMatch(/laptop: 2\nserver: 1\nTotal: 3/);
  }
  expect(await get("unit=tokens&by=class")).toMatch(/Input: 300\nOutput: 150\nTotal: 450/);
  const one = await get("unit=requests&by=key&only=server");
  expect(one).toMatch(/\d{4}\nserver: 1</);
  expect(one).not.toContain("laptop: 2");
  expect(await get("unit=money&by=class")).toContain("USD by day and model");
  expect(await get("unit=sold&by=nobody&only=x")).toContain("USD by day and model");
});

test("a single day is drawn by hour, longer ranges by day, and the unit stays when the days change", async () => {
  const { ann, keys, use } = await open();
  await use(keys[0]);
  const today = (await ann.get("/dashboard/usage?range=today&unit=tokens")).body;
  expect(today).toContain("Tokens by hour and model");
  expect(today).toMatch(new RegExp(`${new Date().toISOString().slice(11, 13)}:00 UTC\nmodelx-v4-pro: 150`));
  expect(plain(today)).toContain("range=7d&unit=tokens");
  expect(today).toMatch(/name="unit" value="tokens"/);
  const week = (await ann.get("/dashboard/usage?range=7d")).body;
  expect(week).toContain("USD by day and model");
  expect(week).toMatch(/\d{4}\nmodelx-v4-pro: \$0\.00009/);
  const yesterday = new Date(Date.now() - DAY_MS).toISOString().slice(0, 10);
  expect((await ann.get(`/dashboard/usage?range=custom&from=${yesterday}&to=${yesterday}`)).body).toContain(
    "No usage in this period",
  );
});

test("a request is found by its id; an unknown id, or another account's, is reported as not found", async () => {
  const { ann, keys, use, owner } = await open();
  const id = await use(keys[0]);
  const path = "/dashboard/usage/requests";
  const found = await ann.get(`${path}?search=%20${id.toUpperCase()}`);
  expect([found.statusCode, found.headers["location"]]).toEqual([303, `${path}/${id}`]);
  const eve = await owner("eve@example.com");
  for (const [client, search] of [
    [eve, id],
    [ann, uuidv7()],
    [ann, "no id"],
  ] as const) {
    const { statusCode, body } = await client.get(`${path}?search=${encodeURIComponent(search)}`);
    expect([statusCode, body.includes("This account has no request with this ID.")]).toEqual([200, true]);
  }
});

test("requests are filtered by the creator of their keys, including keys that the person's tokens created; the files contain the same, as CSV and JSON", async () => {
  const { ann, keys, use, database, inAccount, program } = await open();
  const [laptop = ""] = keys;
  const { accountId } = ann;
  const ben = await inAccount(accountId, "member", "ben@example.com");
  const { call, tokenId } = await program(accountId, ben.personId, "member");
  const { id: byToken } = (await call("POST", "/api/v1/keys", { name: "made by a token" })).json();
  await noteAction(database, { accountId, personId: ben.personId, action: "key.created", subject: laptop });
  expect(tokenId).not.toBe("");
  const [one, other, third] = [await use(laptop), await use(byToken, { firstTokenMs: 120 }), await use(keys[1])];
  const path = "/dashboard/usage/requests";
  const query = `member=${ben.personId}`;
  expect(listed((await ann.get(`${path}?${query}`)).body)).toEqual([other, one]);
  expect(listed((await ann.get(`${path}?${query}&key=${keys[1]}`)).body)).toEqual([]);
  expect(listed((await ann.get(`${path}?member=${ann.personId}`)).body)).toEqual([]);
  const report = await ann.get("/dashboard/usage?by=member");
  for (const words of [`requests?range=30d&${query}"`, "ben@example.com", "No member"])
    expect(plain(report.body)).toContain(words);
  const today = dayOf(Date.now());
  const range = { accountId, fromDay: daysBefore(today, 29), toDay: today };
  const spent = await usageByMember(database, { ...range, step: "range", most: 10 });
  expect(spent.map(({ personId, requests }) => ({ personId, requests }))).toEqual([
    { personId: ben.personId, requests: 2 },
    { personId: "", requests: 1 },
  ]);
  const byHour = await usageByMember(database, { ...range, step: "hour", most: 1 });
  expect(byHour.map(({ personId }) => personId)).not.toContain("");
  expect(byHour.reduce((sum, { requests }) => sum + requests, 0)).toBe(2);
  expect((await call("GET", "/api/v1/usage/members")).json().data).toMatchObject([
    { member_id: ben.personId, requests: 2 },
    { member_id: null, requests: 1 },
  ]);
  const api = (await call("GET", `/api/v1/usage/requests?${query}`)).json();
  expect(api.data.map(({ id }: { id: string }) => id)).toEqual([other, one]);

  const file = await ann.get(`/dashboard/usage/json/requests?${query}`);
  expect(file.headers["content-disposition"]).toMatch(/usage-requests-.*\.json"$/);
  expect(file.json()).toEqual([
    expect.objectContaining({ request_id: other, first_token_ms: 120, is_stream: false, charge_usd: "0.000090000" }),
    expect.objectContaining({ request_id: one, first_token_ms: null, input_tokens: 100, input_usd_per_million: "0.300000" }),
  ]);
  expect((await ann.get(`/dashboard/usage/json/requests?member=${uuidv7()}`)).json()).toEqual([]);
  expect((await ann.get(`/dashboard/usage/csv/requests?${query}`)).body).not.toContain(third);
  expect((await ann.get("/dashboard/usage/json/requests?member=nobody")).statusCode).toBe(400);
});
