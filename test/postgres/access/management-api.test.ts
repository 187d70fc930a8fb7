import { expect, test } from "vitest";
import * as z from "zod";
import { publishModels } from "../../../ledger/models/catalogue.ts";
import { createRedeemCode } from "../../../ledger/credit/codes.ts";
import { postCredit } from "../../../ledger/credit/entries.ts";
import { listActions } from "../../../ledger/people/audit.ts";
import { listManagementTokens, revokeManagementToken } from "../../../ledger/people/management-tokens.ts";
import { settle } from "../../../ledger/settlement/settle.ts";
import { openDashboard, type Client } from "../../support/dashboard/dashboard.ts";
import { openIncident } from "../../../ledger/incidents/incidents.ts";
import { catalogueModel, PEPPER, PRICE, seedLedger, settlementOf } from "../../support/billing/ledger.ts";
import { addMember } from "../../../ledger/people/members.ts";
import { usePostgres } from "../../support/billing/postgres.ts";

/** The management API on a real Postgres, without Envoy. */
const postgres = usePostgres();

async function open() {
  const { database } = await postgres.migrated();
  await publishModels(database, [{ model: catalogueModel("modelx-chat"), price: PRICE }]);
  const dashboard = await openDashboard(database);
  const ann = await dashboard.owner("ann@example.com");
  const program = await dashboard.program(ann.accountId, ann.personId, "member");
  return { ...dashboard, makeProgram: dashboard.program, ann, program, accountId: ann.accountId };
}

const errorBody = z.object({ error: z.strictObject({ type: z.string(), message: z.string(), field: z.string().nullable() }) });

async function refusal(answer: ReturnType<Client["call"]>) {
  const { statusCode, body, headers } = await answer;
  const { error } = errorBody.parse(JSON.parse(body));
  expect(headers["content-type"]).toMatch(/^application\/json/);
  return [statusCode, error.type, error.field, error.message] as const;
}

test("a key's addresses are set, kept, replaced and removed by themselves, and logged as a change of access (S50)", async () => {
  const { program, database, accountId } = await open();
  const limits = { requests_per_minute: 60 };
  const bound = { name: "server", allowed_addresses: ["203.0.113.7/32", "2001:DB8::/32"], limits };
  const made = await program.call("POST", "/api/v1/keys", bound);
  const path = `/api/v1/keys/${made.json().id}`;
  const stored = { allowed_addresses: ["203.0.113.7", "2001:db8::/32"], limits };
  expect([made.statusCode, made.json()]).toMatchObject([201, stored]);
  expect((await program.call("PATCH", path, { name: "renamed" })).json()).toMatchObject(stored);
  expect((await program.call("PATCH", path, { limits: {} })).json()).toMatchObject({ ...stored, limits: {} });
  const moved = await program.call("PATCH", path, { allowed_addresses: ["10.0.0.0/8"] });
  expect(moved.json()).toMatchObject({ allowed_addresses: ["10.0.0.0/8"], limits: {} });
  expect((await program.call("PATCH", path, { allowed_addresses: null })).json()).toMatchObject({ allowed_addresses: null });
  const actions = await listActions(database, { accountId, limit: 20 });
  expect(actions.filter(({ action }) => action === "key.access_changed")).toHaveLength(2);

  for (const [sent, field, words] of [
    [[], "allowed_addresses", "or send null for all"],
    [["10.1.2.3/8"], "allowed_addresses.0", "Use 10.0.0.0/8 for the range"],
    [["10.0.0.1", "localhost"], "allowed_addresses.1", "is not an IP address"],
    [Array.from({ length: 51 }, (_, host) => `10.0.0.${host}`), "allowed_addresses", "At most 50"],
  ] as const) {
    const [status, , at, message] = await refusal(program.call("PATCH", path, { allowed_addresses: sent }));
    expect([status, at]).toEqual([400, field]);
    expect(message).toContain(words);
  }
});

test("a key's origins are set, kept, replaced and removed by themselves, and logged as a change of access (S53)", async () => {
  const { program, database, accountId } = await open();
  const bound = {
    name: "page",
    allowed_addresses: ["203.0.113.7"],
    allowed_origins: ["HTTPS://app.example.com", "http://[::1]:80"],
  };
  const made = await program.call("POST", "/api/v1/keys", bound);
  const path = `/api/v1/keys/${made.json().id}`;
  const stored = { allowed_addresses: ["203.0.113.7"], allowed_origins: ["https://app.example.com", "http://[::1]"] };
  expect([made.statusCode, made.json()]).toMatchObject([201, stored]);
  expect((await program.call("PATCH", path, { limits: { requests_per_minute: 60 } })).json()).toMatchObject(stored);
  expect((await program.call("PATCH", path, { allowed_addresses: null })).json()).toMatchObject({
    allowed_addresses: null,
    allowed_origins: stored.allowed_origins,
  });
  const moved = { allowed_origins: ["http://localhost:5173"] };
  expect((await program.call("PATCH", path, moved)).json()).toMatchObject({ ...moved, limits: { requests_per_minute: 60 } });
  expect((await program.call("PATCH", path, { allowed_origins: null })).json()).toMatchObject({ allowed_origins: null });
  const actions = await listActions(database, { accountId, limit: 20 });
  expect(actions.filter(({ action }) => action === "key.access_changed")).toHaveLength(3);

  for (const [sent, field, words] of [
    [[], "allowed_origins", "or send null for none"],
    [["https://app.example.com/chat"], "allowed_origins.0", "Use https://app.example.com, which"],
    [["https://a.example", "*"], "allowed_origins.1", "is not an origin"],
    [Array.from({ length: 51 }, (_, port) => `http://localhost:${5_000 + port}`), "allowed_origins", "At most 50"],
  ] as const) {
    const [status, , at, message] = await refusal(program.call("PATCH", path, { allowed_origins: sent }));
    expect([status, at]).toEqual([400, field]);
    expect(message).toContain(words);
  }
});

test("a key goes through its whole life; its value is returned only when it is created or rotated (S24)", async () => {
  const { program, database, accountId } = await open();
  const made = await program.call("POST", "/api/v1/keys", {
    name: "ci",
    allowed_models: ["modelx-chat"],
    limits: { spend_per_day_usd: "2.50", requests_per_minute: 60 },
    expires_at: "2099-01-01T00:00:00Z",
  });
  expect(made.statusCode).toBe(201);
  const { value, ...key } = made.json();
  expect(value).toMatch(new RegExp(`^sk-mg-${key.id}[0-9A-Za-z]{43}$`));
  expect(key).toEqual({
    id: key.id,
    name: "ci",
    masked: `sk-mg-${key.id.slice(0, 4)}****${key.id.slice(-4)}`,
    status: "active",
    created_at: expect.stringMatching(/^\d{4}-.*Z$/),
    last_used_at: null,
    expires_at: "2099-01-01T00:00:00.000Z",
    allowed_models: ["modelx-chat"],
    allowed_addresses: null,
    allowed_origins: null,
    limits: { spend_per_day_usd: "2.50", requests_per_minute: 60 },
    project_id: null,
    previous_value_until: null,
    prompt_log_days: null,
    spent: { today: "0.000000000", this_month: "0.000000000", total: "0.000000000" },
  });
  const path = `/api/v1/keys/${key.id}`;
  expect((await program.get(path)).json()).toEqual(key);
  expect((await program.get("/api/v1/keys")).json()).toEqual({ data: [key], next_cursor: null });

  const changed = await program.call("PATCH", path, { name: "renamed", disabled: true, allowed_models: null });
  expect(changed.json()).toEqual({ ...key, name: "renamed", status: "disabled", allowed_models: null });
  expect((await program.call("PATCH", path, { disabled: false, limits: {} })).json()).toMatchObject({
    status: "active",
    limits: {},
  });
  const rotated = (await program.call("POST", `${path}/rotate`, { overlap_hours: 2 })).json();
  expect(rotated.value).toMatch(new RegExp(`^sk-mg-${key.id}[0-9A-Za-z]{43}$`));
  expect(rotated.value).not.toBe(value);
  expect(Date.parse(rotated.previous_value_until)).toBeGreaterThan(Date.now());
  expect((await program.get(path)).body).not.toContain(rotated.value.slice(18));

  const deleted = await program.call("DELETE", path);
  expect([deleted.statusCode, deleted.body]).toEqual([204, ""]);
  expect((await program.get(path)).statusCode).toBe(404);
  expect((await program.call("DELETE", path)).statusCode).toBe(404);
  const actions = await listActions(database, { accountId, limit: 20 });
  expect(actions.map(({ by, action, subject }) => [by, action, subject])).toEqual(
    ["deleted", "rotated", "changed", "changed", "created"].map((done) => ["token a member's program", `key.${done}`, key.id]),
  );
});

test("usage is reported by model and day, by key, in totals, and by request, in pages (S27)", async () => {
  const { database } = await postgres.migrated();
  const { owner, program: programOf } = await openDashboard(database);
  const eve = await owner("eve@example.com");
  const customer = await seedLedger(database);
  const ann = await owner("ann@example.com");
  await addMember(database, { accountId: customer.accountId, personId: ann.personId, role: "owner" });
  const program = await programOf(customer.accountId, ann.personId, "viewer");
  await settle(
    database,
    [1, 2, 3].map(() => settlementOf(customer)),
  );

  const today = new Date().toISOString().slice(0, 10);
  const tokens = { input: 300, cached_input: 0, cache_write: 0, output: 150, reasoning: 30 };
  const sums = { requests: 3, tokens, searches: 0, images: 0, characters: 0, seconds: 0, amount: "0.000270000" };
  const usage = (await program.get("/api/v1/usage")).json();
  expect(usage).toMatchObject({ currency: "USD", to: today, data: [{ day: today, model: "modelx-v4-pro", ...sums }] });
  expect((await program.get("/api/v1/usage/keys")).json().data).toEqual([
    { key_id: customer.keyId, name: "test", is_deleted: false, ...sums },
  ]);
  expect((await program.get("/api/v1/usage/totals")).json()).toMatchObject({ today: sums, last_30_days: sums });

  const first = (await program.get("/api/v1/usage/requests?limit=2")).json();
  expect(first.data).toHaveLength(2);
  expect(first.data[0]).toMatchObject({
    key_id: customer.keyId,
    amount: "0.000090000",
    outcome: "complete",
    price: { input: "0.30", cached_input: "0.03", cache_write: "0.30", output: "1.20", search: "0.00" },
  });
  const second = (await program.get(`/api/v1/usage/requests?limit=2&cursor=${first.next_cursor}`)).json();
  expect([second.data.length, second.next_cursor]).toEqual([1, null]);
  expect(new Set([...first.data, ...second.data].map(({ id }) => id)).size).toBe(3);
  expect((await program.get("/api/v1/usage/requests?outcome=failed")).json().data).toEqual([]);

  const foreign = (await eve.get(`/api/v1/usage/requests?key=${customer.keyId}`)).json();
  expect(foreign).toEqual({ data: [], next_cursor: null });
});

test("the balance, its changes, and a code that adds to it (S26)", async () => {
  const { program, database, accountId } = await open();
  for (const reference of ["a", "b", "c"])
    await postCredit(database, { accountId, kind: "grant", amountNanoUsd: 1_500_000_000n, reference, note: reference });
  expect((await program.get("/api/v1/credit")).json()).toEqual({
    currency: "USD",
    balance: "4.500000000",
    held: "0.000000000",
    overdraft: "0.000000000",
  });
  const first = (await program.get("/api/v1/credit/entries?limit=2")).json();
  expect(first.data.map(({ note }: { note: string }) => note)).toEqual(["c", "b"]);
  const second = (await program.get(`/api/v1/credit/entries?limit=2&cursor=${first.next_cursor}`)).json();
  expect([second.data.length, second.data[0].amount, second.next_cursor]).toEqual([1, "1.500000000", null]);

  const { code } = await createRedeemCode(database, { amountNanoUsd: 500_000_000n, pepper: PEPPER });
  const redeemed = await program.call("POST", "/api/v1/credit/redeem", { code });
  expect(redeemed.json()).toEqual({ currency: "USD", amount: "0.500000000", balance: "5.000000000", is_new: true });
  expect((await program.call("POST", "/api/v1/credit/redeem", { code })).json()).toMatchObject({
    balance: "5.000000000",
    is_new: false,
  });
  expect(await refusal(program.call("POST", "/api/v1/credit/redeem", { code: "nothing" }))).toEqual([
    400,
    "invalid_request",
    "code",
    "This code is invalid or was already used.",
  ]);
});

test("the account, its members and the models are returned", async () => {
  const { program, ann, database, accountId } = await open();
  expect((await program.get("/api/v1/account")).json()).toMatchObject({
    id: accountId,
    status: "active",
    caller: { role: "member", is_token: true },
  });
  expect((await ann.get("/api/v1/account")).json()).toMatchObject({ caller: { role: "owner", is_token: false } });
  expect((await program.get("/api/v1/members")).json().data).toMatchObject([{ email: "ann@example.com", role: "owner" }]);
  await seedLedger(database);
  expect((await program.get("/api/v1/models")).json()).toMatchObject({
    data: [{ name: "modelx-v4-pro", price: { input: "0.30", output: "1.20" } }],
  });
});

test("incidents are paged, newest first, with their updates; the cursor of another list is rejected", async () => {
  const { program, ann, database } = await open();
  const incident = { impact: "major", message: "No answers.", personId: ann.personId } as const;
  const first = await openIncident(database, { ...incident, title: "First", status: "resolved" });
  const second = await openIncident(database, { ...incident, title: "Second", status: "investigating" });
  const newest = (await program.get("/api/v1/incidents?limit=1")).json();
  expect(newest.data).toMatchObject([
    { id: second, title: "Second", resolved_at: null, updates: [{ status: "investigating", message: "No answers." }] },
  ]);
  const rest = (await program.get(`/api/v1/incidents?cursor=${newest.next_cursor}`)).json();
  expect(rest).toMatchObject({ data: [{ id: first, resolved_at: expect.any(String) }], next_cursor: null });
  const refused = await refusal(program.get("/api/v1/incidents?cursor=YWJj"));
  expect(refused.slice(0, 3)).toEqual([400, "invalid_request", "cursor"]);
});

test("each mistake is a 400 that names the field and the remedy", async () => {
  const { program } = await open();
  const cases: [ReturnType<Client["call"]>, string | null, string][] = [
    [program.call("POST", "/api/v1/keys", {}), "name", "A name has 1 to 100 characters."],
    [program.call("POST", "/api/v1/keys", { name: "a\0b" }), "name", "A name must be one line"],
    [program.call("POST", "/api/v1/projects", { name: "shop \u202etxt.exe" }), "name", "A name must be one line"],
    [program.call("POST", "/api/v1/projects", { name: "\u200b" }), "name", "A name has 1 to 64 characters."],
    [
      program.call("POST", "/api/v1/keys", { name: "a", limits: { spend_per_day_usd: "-1" } }),
      "limits.spend_per_day_usd",
      'such as "5.00"',
    ],
    [program.call("POST", "/api/v1/keys", { name: "a", expires_at: "2001-01-01T00:00:00Z" }), "expires_at", "in the future"],
    [program.call("POST", "/api/v1/keys", { name: "a", colour: "red" }), "colour", "Check its spelling"],
    [program.call("POST", "/api/v1/keys", { name: "a", limits: { rpm: 5 } }), "limits.rpm", "Check its spelling"],
    [program.call("POST", "/api/v1/keys", { name: "a", limits: "5" }), "limits", "Must be an object."],
    [
      program.call("POST", "/api/v1/keys", { name: "a", allowed_origins: "https://app.example.com" }),
      "allowed_origins",
      "a list",
    ],
    [program.call("POST", "/api/v1/keys", ["a"]), null, "Must be an object."],
    [program.get("/api/v1/usage?from=2026-02-01&to=2026-01-01"), "from", "`from` is after `to`. Send the earlier day as `from`."],
    [program.get("/api/v1/usage?from=2020-01-01&to=2026-01-01"), "from", "366 days"],
    [program.get("/api/v1/usage?from=yesterday"), "from", "such as 2026-11-21"],
    [program.get("/api/v1/usage/requests?cursor=abc"), "cursor", "next_cursor"],
    [program.get("/api/v1/credit/entries?limit=1000"), "limit", "At most 200."],
    [program.get("/api/v1/usage/requests?outcome=done"), "outcome", "Must be one of complete, truncated, failed"],
    [program.get("/api/v1/keys/short"), "id", "12 letters and digits"],
  ];
  for (const [answer, field, words] of cases) {
    const [status, type, atFault, message] = await refusal(answer);
    expect([words, status, type, atFault]).toEqual([words, 400, "invalid_request", field]);
    expect(message).toContain(words);
  }
});

test("a token with too low a role is refused with the required role", async () => {
  const { ann, makeProgram } = await open();
  const viewer = await makeProgram(ann.accountId, ann.personId, "viewer");
  expect(await refusal(viewer.call("POST", "/api/v1/keys", { name: "no" }))).toEqual([
    403,
    "permission_denied",
    null,
    "This requires the member role or higher; the caller has the viewer role.",
  ]);
});

test("without a token, with a revoked or expired one, and with an API key, the answer is a 401 that says what to use", async () => {
  const { guest, client, program, makeProgram, database, accountId, ann } = await open();
  const made = (await program.call("POST", "/api/v1/keys", { name: "k" })).json();
  const used = await listManagementTokens(database, accountId);
  expect(used[0]?.lastUsedAt?.getSeconds()).toBe(0);
  const ended = await makeProgram(accountId, ann.personId, "viewer");
  await database.execute("UPDATE management_token SET expires_at = now() WHERE id = $1", [ended.tokenId]);
  await revokeManagementToken(database, { accountId, id: program.tokenId });

  const strangers: [Client, RegExp][] = [
    [guest, /^Authentication required\. Create a management token/],
    [program, /^This token is not valid/],
    [ended, /^This token is not valid/],
    [client({ authorization: `Bearer ${made.value}` }), /^This is an API key, which can only call models\./],
    [client({ "x-api-key": made.value }), /^This is an API key, .* To call models, leave `\/api` out of the base URL\.$/],
    [client({ authorization: "Basic YTpi" }), /^The `authorization` header contains no token\. Create a management token/],
    // As a command sends it whose variable is not set.
    [client({ authorization: "Bearer" }), /^The `authorization` header contains no token\. Create a management token/],
    [client({ authorization: "Bearer ghp_token" }), /^This is not a management token\. Create a management token/],
    [
      client({ authorization: `Bearer mgmt_${"x".repeat(34)}` }),
      /^This token has 39 characters instead of 48\. Copy all of it\.$/,
    ],
  ];
  for (const [stranger, words] of strangers) {
    const [status, type, , message] = await refusal(stranger.get("/api/v1/account"));
    expect([status, type]).toEqual([401, "unauthenticated"]);
    expect(message).toMatch(words);
  }
  expect((await guest.get("/api/v1/account")).headers["www-authenticate"]).toBe("Bearer");
});

test("a session can change something only from a page of the dashboard, as JSON; a token needs neither", async () => {
  const { database } = await postgres.migrated();
  await publishModels(database, [{ model: catalogueModel("modelx-chat"), price: PRICE }]);
  const dashboard = await openDashboard(database);
  const ann = await dashboard.owner("ann@example.com");
  expect((await ann.call("POST", "/api/v1/keys", { name: "mine" })).statusCode).toBe(201);
  const cookie = ann.cookie;
  const headersOf = {
    "another site's": { cookie, origin: "https://evil.example" },
    "another site's, told by fetch metadata": { cookie, origin: "", "sec-fetch-site": "cross-site" },
    "a sandboxed frame's": { cookie, origin: "null" },
  };
  for (const headers of Object.values(headersOf))
    expect((await refusal(dashboard.client(headers).call("POST", "/api/v1/keys", { name: "forged" })))[0]).toBe(403);
  expect((await refusal(ann.post("/api/v1/keys", { name: "forged" })))[0]).toBe(403);
  expect((await ann.get("/api/v1/keys")).json().data).toHaveLength(1);
});

test("the description is OpenAPI 3.1 with every route of the API, and needs no token", async () => {
  const { guest, routes } = await open();
  const answer = await guest.get("/api/v1/openapi.json");
  expect(answer.headers["content-type"]).toMatch(/^application\/json/);
  const description = z
    .object({
      openapi: z.literal("3.1.0"),
      paths: z.record(
        z.string(),
        z.record(z.string(), z.object({ summary: z.string(), responses: z.record(z.string(), z.unknown()) })),
      ),
      components: z.object({ schemas: z.record(z.string(), z.unknown()) }),
    })
    .parse(answer.json());
  const described = Object.entries(description.paths).flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => `${method.toUpperCase()} ${path.replaceAll(/\{(\w+)\}/g, ":$1")}`),
  );
  // SCIM describes itself, by its own Schemas.
  const isDescribed = (url: string) => !url.endsWith("openapi.json") && !url.startsWith("/api/v1/scim/");
  const served = routes
    .filter(({ url, method }) => url.startsWith("/api/v1/") && method !== "HEAD" && isDescribed(url))
    .map(({ url, method }) => `${method} ${url}`);
  expect(described.toSorted()).toEqual(served.toSorted());
  expect(Object.keys(description.components.schemas)).toEqual(expect.arrayContaining(["Key", "NewKey", "Error", "Request"]));
  expect(answer.body).not.toContain("$schema");
});

test("an account with too many requests is asked to wait, and no other account is", async () => {
  const { program, ann, owner } = await open();
  for (let sent = 0; sent < 600; sent += 20) await Promise.all(Array.from({ length: 20 }, () => program.get("/api/v1/account")));
  const [status, type, , message] = await refusal(program.get("/api/v1/account"));
  expect([status, type]).toEqual([429, "rate_limited"]);
  expect(message).toMatch(/^The tokens of an account can together send 600 requests per minute\. Try again in \d+ seconds\.$/);
  expect(Number((await program.get("/api/v1/account")).headers["retry-after"])).toBeGreaterThan(0);
  expect((await ann.get("/api/v1/account")).statusCode).toBe(429);
  expect((await (await owner("bob@example.com")).get("/api/v1/account")).statusCode).toBe(200);
});

test("errors for unknown paths and broken JSON are JSON", async () => {
  const { program, client } = await open();
  expect((await refusal(program.get("/api/v1/nothing"))).slice(0, 2)).toEqual([404, "not_found"]);
  // The base URL of OpenRouter's clients, with another host.
  const [status, , , meant] = await refusal(program.call("POST", "/api/v1/chat/completions", {}));
  expect([status, meant]).toEqual([404, expect.stringContaining("leave `/api` out of the base URL: POST /v1/chat/completions.")]);
  const broken = await client({ authorization: `Bearer ${program.token}`, "content-type": "application/json" }).get(
    "/api/v1/keys",
    {
      method: "POST",
      payload: "{",
    },
  );
  expect([broken.statusCode, broken.json().error.message]).toEqual([400, "The body is not valid JSON."]);
});
