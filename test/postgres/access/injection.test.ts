import { randomUUID } from "node:crypto";
import { expect, test } from "vitest";
import * as z from "zod";
import { createOutbox } from "../../../dashboard/mail/outbox.ts";
import { createPayments } from "../../../dashboard/payments/payments.ts";
import { publishModels } from "../../../ledger/models/catalogue.ts";
import { createBatch } from "../../../ledger/batches/batches.ts";
import { createBatchRoom } from "../../../ledger/batches/room.ts";
import { setBudget } from "../../../ledger/budgets/set-budget.ts";
import { assignProject } from "../../../ledger/projects/project-keys.ts";
import { createProject } from "../../../ledger/projects/projects.ts";
import { publishSealing } from "../../../ledger/provider-keys/sealing.ts";
import { boxKey } from "../../../runtime/sealed-box.ts";
import { addDestination } from "../../../ledger/traces/destinations.ts";
import { addEndpoint } from "../../../ledger/webhooks/endpoints.ts";
import { EVENT_TYPES } from "../../../ledger/webhooks/event-types.ts";
import { queueEvent } from "../../../ledger/webhooks/events.ts";
import { listRedeemCodes } from "../../../ledger/credit/code-list.ts";
import { createRedeemCode, redeemCode } from "../../../ledger/credit/codes.ts";
import type { Database } from "../../../ledger/postgres/database.ts";
import { postCredit } from "../../../ledger/credit/entries.ts";
import { createApiKey } from "../../../ledger/keys/keys.ts";
import { beginPayment, completePayment } from "../../../ledger/payments/payments.ts";
import { setAdmin } from "../../../ledger/people/admins.ts";
import { createManagementToken } from "../../../ledger/people/management-tokens.ts";
import { invite, listInvitations } from "../../../ledger/people/invitations.ts";
import { addMember } from "../../../ledger/people/members.ts";
import { signUp } from "../../../ledger/people/persons.ts";
import { settle } from "../../../ledger/settlement/settle.ts";
import { freePort, LOOPBACK } from "../../../local/process/ports.ts";
import type { Thing } from "../../support/dashboard/access.ts";
import { ACCESS } from "../../support/dashboard/access-table.ts";
import { openDashboard, type Client, type SignedIn, type TestDashboard } from "../../support/dashboard/dashboard.ts";
import { catalogueModel, PEPPER, PRICE, settlementOf } from "../../support/billing/ledger.ts";
import { PASSWORD } from "../../support/dashboard/people.ts";
import { addPromptRecord, turnOnPromptLog } from "../../support/billing/prompt-records.ts";
import { usePostgres } from "../../support/billing/postgres.ts";

/** On every page of the app, input must stay text, and secrets must stay secret. */
const postgres = usePostgres();
const MARKUP = `"><img src=x onerror=alert(1)>'`;
const PAYMENT = `cs_test_${"0".repeat(32)}`;

interface Full {
  dashboard: TestDashboard;
  database: Database;
  /** Owner of an account that has one of everything, and an admin. */
  root: SignedIn;
  ids: Readonly<Record<Exclude<Thing, object>, string>>;
  key: string;
}

/** An account in which everything that has a name has this one. */
async function openFull(name: string): Promise<Full> {
  const { database } = await postgres.migrated();
  const port = await freePort();
  const publicBaseUrl = `http://${LOOPBACK}:${port}`;
  const payments = await createPayments({ provider: "test" }, { publicBaseUrl, pepper: PEPPER });
  const dashboard = await openDashboard(database, { publicBaseUrl, payments, mailer: createOutbox() });
  // Paying without money sends notices there.
  await dashboard.app.listen({ host: LOOPBACK, port });
  const { person, accountId } = await signUp(database, { email: "root@example.com", name, password: PASSWORD });
  await setAdmin(database, { email: person.email, isAdmin: true });
  const other = await signUp(database, { email: "other@example.com", name, password: PASSWORD });
  await addMember(database, { accountId, personId: other.person.id, role: "member" });

  const model = catalogueModel(name, { aliases: [name], displayName: name, description: name });
  const providerKey = { provider: name, origin: name, endpoint: name };
  const backends = model.backends.map((backend) => ({ ...backend, name, upstreamModel: name, cluster: name, providerKey }));
  const providerKeyFee = { requestPicoUsd: 1n, millionths: 1n };
  await publishModels(database, [{ model: { ...model, backends }, price: PRICE, providerKeyFee }]);
  const { id: keyId, publicKey } = boxKey(Buffer.alloc(32, 1));
  await publishSealing(database, { keyId, publicKey, maxClusters: 1 }, PEPPER);
  await database.execute(
    `INSERT INTO provider_key (id, account_id, provider, origin, sealing_key_id, sealed, last_four)
     VALUES (uuidv7(), $1, 'example', $2, $2, '', left($2, 4)), (uuidv7(), $1, $2, $2, $2, '', left($2, 4))`,
    [accountId, name],
  );
  const { publicId, value } = await createApiKey(database, { accountId, name, pepper: PEPPER, allowedModels: [name] });
  const settlement = settlementOf({ accountId, keyId: publicId }, { model: name, providerKey: name });
  await settle(database, [settlement]);
  await turnOnPromptLog(database, { keyId: publicId });
  const { requestId } = settlement;
  const message = { role: name, content: name };
  const request = JSON.stringify({ model: name, messages: [message], tools: [{ name, description: name }] });
  const answer = JSON.stringify({ choices: [{ message }] });
  await addPromptRecord(database, { accountId, keyId: publicId }, { requestId, model: name, request, answer });
  await postCredit(database, { accountId, kind: "grant", amountNanoUsd: 1n, reference: name, note: name });
  const token = { accountId, name, role: "viewer", createdBy: person.id, expiresAt: null } as const;
  const { id: tokenId } = await createManagementToken(database, token);
  const { code } = await createRedeemCode(database, { amountNanoUsd: 1n, pepper: PEPPER, note: name, createdBy: person.id });
  await redeemCode(database, { actor: { accountId, personId: person.id }, code, pepper: PEPPER });
  await beginPayment(database, { accountId, provider: "test", providerPaymentId: PAYMENT, amountNanoUsd: 5_000_000_000n });
  const paid = { provider: "test", providerPaymentId: "cs_test_paid" };
  const { id: receipt } = await beginPayment(database, { accountId, ...paid, amountNanoUsd: 5_000_000_000n });
  await completePayment(database, paid);
  await database.execute(
    "INSERT INTO audit_entry (id, account_id, person_id, action, subject) VALUES (uuidv7(), $1, $2, $3, $3)",
    [accountId, person.id, name],
  );
  await database.execute(
    "INSERT INTO ledger_check_run (id, ended_at, differences, found) VALUES (uuidv7(), now(), 1, jsonb_build_array($1::jsonb))",
    [JSON.stringify({ check: name, subject: name, expected: name, found: name })],
  );
  await invite(database, { accountId, email: "new@example.com", role: "viewer", invitedBy: person.id });
  const budget = await setBudget(database, { accountId, personId: null }, { scope: "key", keyId: publicId, amountNanoUsd: 1n });
  const { endpoint: webhook } = await addEndpoint(database, {
    accountId,
    url: `https://example.com/${encodeURIComponent(name)}`,
    events: EVENT_TYPES,
    pepper: PEPPER,
  });
  await queueEvent(database, { accountId, type: "key.created", data: { key_name: name } });
  const traces = await addDestination(database, {
    accountId,
    name: Array.from(name).slice(0, 64).join(""),
    kind: "otlp",
    url: `https://example.com/${encodeURIComponent(name)}`,
    headers: [["x-name", name]],
    includesContent: false,
    pepper: PEPPER,
  });
  await database.execute("UPDATE trace_destination SET problem = $1, remark = $1, failing_since = now()", [name]);
  const projectName = Array.from(name).slice(0, 64).join("");
  const project = await createProject(database, { accountId, personId: person.id, tokenId: null }, projectName);
  await assignProject(database, { accountId, publicId, projectId: project });
  async function openBatch(state: "running" | "ended"): Promise<string> {
    const batch = {
      accountId,
      keyId: publicId,
      kind: "batch",
      interface: "chat",
      bytes: 0,
      room: createBatchRoom({ maxBytes: Infinity }),
    } as const;
    const id = await createBatch(database, { ...batch, metadata: { name } });
    const errors = JSON.stringify([{ code: name, message: name, line: null }]);
    await database.execute("UPDATE batch SET state = $2, errors = $3 WHERE id = $1", [id, state, errors]);
    return id;
  }
  const ids = {
    budget,
    project,
    provider: "example",
    key: publicId,
    token: tokenId,
    account: accountId,
    payment: PAYMENT,
    code: (await listRedeemCodes(database, { limit: 1 }))[0]?.id ?? "",
    person: person.id,
    invitation: (await listInvitations(database, accountId))[0]?.id ?? "",
    session: "0".repeat(64),
    request: settlement.requestId,
    record: settlement.requestId,
    receipt,
    webhook: webhook.id,
    "trace destination": traces.id,
    batch: await openBatch("running"),
    "ended batch": await openBatch("ended"),
  };
  return { dashboard, database, root: await dashboard.signIn(person.id, accountId), ids, key: value };
}

/** The address of each page that there is to look at. */
function pagesOf({ dashboard, ids }: Full): string[] {
  return dashboard.routes
    .filter(({ method, url }) => method === "GET" && !url.includes("/assets/") && isForSomebody(`GET ${url}`))
    .map(({ url }) =>
      Object.entries(ACCESS[`GET ${url}`]?.ids ?? {}).reduce(
        (address, [name, thing]) => address.replace(`:${name}`, typeof thing === "string" ? ids[thing] : thing.text),
        url,
      ),
    );
}

/** An invitation's page is there with an invitation's token alone. */
function isForSomebody(name: string): boolean {
  const { owner = 200, admin = 200 } = ACCESS[name] ?? {};
  return Math.min(owner, admin) < 400;
}

/** A page without the markup as markup; what is no page is declared as what it is. */
function isHarmless({ body, headers }: Awaited<ReturnType<Client["get"]>>): boolean {
  const type = headers["content-type"] ?? "";
  if (body === "" || type.startsWith("text/html")) return !body.includes("<img src=x");
  return (
    headers["x-content-type-options"] === "nosniff" &&
    /^(application\/((scim\+)?json|pdf|x-ndjson|yaml)|text\/(csv|plain|markdown))(;|$)/.test(type)
  );
}

test("markup in any name is shown as text on every page, and is a string in every file and answer", async () => {
  const full = await openFull(MARKUP);
  const shown: string[] = [];
  for (const page of pagesOf(full)) {
    const answer = await full.root.get(page);
    expect.soft([page, answer.statusCode < 400, isHarmless(answer)], answer.body.slice(0, 300)).toEqual([page, true, true]);
    if (answer.body.includes("onerror")) shown.push(page);
  }
  // The names are there: the pages above did not leave them out.
  expect(shown).toEqual(
    expect.arrayContaining([
      "/dashboard",
      "/dashboard/keys",
      `/dashboard/keys/${full.ids.key}`,
      "/dashboard/usage",
      "/dashboard/usage/performance",
      "/dashboard/usage/requests",
      `/dashboard/usage/requests/${full.ids.request}`,
      "/dashboard/prompt-log",
      `/dashboard/prompt-log/${full.ids.request}`,
      "/dashboard/credit",
      "/dashboard/models",
      "/dashboard/tokens",
      "/dashboard/admin",
      `/dashboard/admin/accounts/${full.ids.account}`,
      "/dashboard/admin/codes",
      "/dashboard/admin/models",
      "/dashboard/admin/check",
      "/dashboard/admin/audit",
      "/api/v1/keys",
    ]),
  );
});

test("markup in an address or a form is returned as text, if at all", async () => {
  const full = await openFull("Ann");
  const names = [
    "search",
    "account",
    "after",
    "before",
    "key",
    "model",
    "range",
    "from",
    "to",
    "next",
    "paid",
    "unit",
    "cursor",
    "token",
    "invitation",
  ];
  const query = new URLSearchParams(Object.fromEntries(names.map((name) => [name, MARKUP]))).toString();
  for (const page of pagesOf(full)) {
    for (const client of [full.root, full.dashboard.guest]) {
      const answer = await client.get(`${page}?${query}`);
      expect.soft([page, answer.statusCode < 500, isHarmless(answer)], answer.body.slice(0, 300)).toEqual([page, true, true]);
    }
  }
  for (const { method, url } of full.dashboard.routes) {
    if (method !== "POST" || !url.startsWith("/dashboard/")) continue;
    const { body = {}, ids = {} } = ACCESS[`${method} ${url}`] ?? {};
    const address = Object.entries(ids).reduce(
      (path, [name, thing]) => path.replace(`:${name}`, typeof thing === "string" ? full.ids[thing] : thing.text),
      url,
    );
    const fields = [
      "email",
      "name",
      "password",
      "code",
      "amount",
      "reason",
      "token",
      "current",
      "threshold",
      "invitation",
      "expires",
      "attempt",
      "models",
      "role",
      ...Object.keys(body),
    ];
    const { personId, accountId } = full.root;
    // A browser of its own: one of the forms signs out.
    const client = await full.dashboard.signIn(personId, accountId);
    const answer = await client.post(address, Object.fromEntries(fields.map((field) => [field, MARKUP])));
    expect.soft([url, answer.statusCode < 500, isHarmless(answer)], answer.body.slice(0, 300)).toEqual([url, true, true]);
  }
});

test.for([
  "https://evil.example/",
  "//evil.example",
  "/\\evil.example",
  "/dashboard//evil.example",
  "/dashboard/keys\r\nset-cookie: session=planted",
  "javascript:alert(1)",
])("nobody is redirected to %j after signing in, and it never becomes a header", async (next) => {
  const { dashboard } = await openFull("Ann");
  const form = { email: "root@example.com", password: PASSWORD, next };
  const { statusCode, headers } = await dashboard.guest.post("/dashboard/sign-in", form);
  expect([statusCode, headers["location"]]).toEqual([303, "/dashboard"]);
  const cookies = [headers["set-cookie"]].flat().map((cookie) => String(cookie).split("=", 1)[0]);
  expect(cookies).toEqual(["session", "browser"]);
  expect(JSON.stringify(headers)).not.toContain("planted");
});

test("values of keys, tokens, codes and sessions are in one answer, and never in another, in a log or in the database (S24)", async () => {
  const full = await openFull("Ann");
  const { dashboard, database, root } = full;
  const program = await dashboard.program(root.accountId, root.personId, "owner");
  const path = `/dashboard/keys/${full.ids.key}/rotate`;
  const answers = [
    await root.post("/dashboard/keys/new", { name: "one" }),
    await root.post(path),
    await program.call("POST", "/api/v1/keys", { name: "two" }),
    await program.call("POST", `/api/v1/keys/${full.ids.key}/rotate`, {}),
    await root.post("/dashboard/tokens", { name: "three", role: "viewer" }),
    await root.post("/dashboard/admin/codes", { count: "2", amount: "1", uses: "1", reason: "four", attempt: randomUUID() }),
  ].map(({ body }) => body);
  const answered = answers.flatMap(
    (body) => body.match(/sk-mg-\w{55}|mgmt_[\w-]{43}|(?:[2-9A-HJ-NP-Z]{5}-){3}[2-9A-HJ-NP-Z]{5}/g) ?? [],
  );
  const values = new Set([...answered, full.key, program.token]);
  expect(values.size).toBe(9);
  const session = root.cookie.replace("session=", "");
  const secrets = [...[...values].flatMap(secretsOf), session, PASSWORD];

  const pages = await Promise.all(pagesOf(full).map(async (page) => (await root.get(page)).body));
  const failures = [
    await program.get("/api/v1/nothing"),
    await dashboard.client({ authorization: `Bearer ${program.token}x` }).get("/api/v1/keys"),
  ];
  const stored = await textOf(database);
  const everywhere = [...pages, ...failures.map(({ body }) => body), dashboard.logged(), stored].join("\n").toLowerCase();
  for (const secret of secrets) {
    const bytes = Buffer.from(secret);
    for (const form of [secret, bytes.toString("hex"), bytes.toString("base64url")])
      expect(everywhere.includes(form.toLowerCase()), form).toBe(false);
  }
  // The search does find such values.
  expect(stored).toContain(full.ids.key);
});

/** What must not be found of it: a key's public id is no secret, what follows it is; a code counts without its dashes, too. */
function secretsOf(value: string): string[] {
  if (value.startsWith("sk-mg-")) return [value.slice(18)];
  if (value.startsWith("mgmt_")) return [value.slice(5)];
  return [value, value.replaceAll("-", "")];
}

/** All rows of all tables, as a dump would have them. */
async function textOf(database: Database): Promise<string> {
  const tables = await database.query({
    text: "SELECT tablename AS name FROM pg_tables WHERE schemaname = 'public'",
    row: z.strictObject({ name: z.string() }),
  });
  const rows = await database.query({
    text: tables.map(({ name }) => `SELECT t::text AS line FROM ${name} AS t`).join(" UNION ALL "),
    row: z.strictObject({ line: z.string() }),
  });
  return rows.map(({ line }) => line).join("\n");
}
