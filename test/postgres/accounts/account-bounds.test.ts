import { describe, expect, test } from "vitest";
import { ACCOUNT_BOUNDS } from "../../../contract/account-bounds.ts";
import { createPayments } from "../../../dashboard/payments/payments.ts";
import { publishModels } from "../../../ledger/models/catalogue.ts";
import { createApiKey, revokeApiKey } from "../../../ledger/keys/keys.ts";
import { admitTopUp, beginPayment } from "../../../ledger/payments/payments.ts";
import type { Database } from "../../../ledger/postgres/database.ts";
import { listActions, listOwnActions } from "../../../ledger/people/audit.ts";
import { acceptInvitation, invite } from "../../../ledger/people/invitations.ts";
import { addMember } from "../../../ledger/people/members.ts";
import { createManagementToken, listManagementTokens, revokeManagementToken } from "../../../ledger/people/management-tokens.ts";
import { prepareFactor, renewRecoveryCodes } from "../../../ledger/sign-in/factors.ts";
import { findSession, listSessions, startSession } from "../../../ledger/sign-in/sessions.ts";
import { addResourceKey } from "../../../ledger/keys/resource-keys.ts";
import { openDashboard } from "../../support/dashboard/dashboard.ts";
import { hold } from "../../support/billing/held-rows.ts";
import { catalogueModel, PEPPER, PRICE } from "../../support/billing/ledger.ts";
import { insertedKeyId, insertKeys } from "../../support/dashboard/many-keys.ts";
import { createPerson } from "../../support/dashboard/people.ts";
import { eventually } from "../../support/eventually.ts";
import { usePostgres } from "../../support/billing/postgres.ts";
import { resourceKey } from "../../support/billing/resource-key.ts";

const postgres = usePostgres();
const { keys: MAX_KEYS } = ACCOUNT_BOUNDS;
const TOO_MANY = new RegExp(`at most ${MAX_KEYS} keys.*deleted in the last 24 hours.*Delete unused keys`);

async function start() {
  const { database } = await postgres.migrated();
  await publishModels(database, [{ model: catalogueModel("modelx-chat"), price: PRICE }]);
  const payments = await createPayments({ provider: "test" }, { publicBaseUrl: "http://gateway.example", pepper: PEPPER });
  const dashboard = await openDashboard(database, { payments });
  const ann = await dashboard.owner("ann@example.com");
  const program = await dashboard.program(ann.accountId, ann.personId, "owner");
  return { ...dashboard, ann, program, accountId: ann.accountId, makeProgram: dashboard.program };
}

/** Nobody else reads or writes the table until the returned function is called. */
async function lockTable(database: Database, table: "api_key" | "model"): Promise<() => Promise<void>> {
  return hold(database, `LOCK TABLE ${table} IN ACCESS EXCLUSIVE MODE`);
}

describe("an account's keys", () => {
  test("are bounded, including those deleted within a day; the refusal names the bound and the remedy", async () => {
    const { database, accountId, ann, program } = await start();
    await insertKeys(database, { accountId, from: 0, count: MAX_KEYS - 1 });
    expect((await program.call("POST", "/api/v1/keys", { name: "last" })).statusCode).toBe(201);

    const refused = await program.call("POST", "/api/v1/keys", { name: "one more" });
    expect(refused.statusCode).toBe(400);
    expect(refused.json()).toMatchObject({ error: { type: "invalid_request", message: expect.stringMatching(TOO_MANY) } });
    const page = await ann.post("/dashboard/keys/new", { name: "one more" });
    expect(page.statusCode).toBe(400);
    expect(page.body).toMatch(TOO_MANY);

    await revokeApiKey(database, insertedKeyId(0));
    expect((await program.call("POST", "/api/v1/keys", { name: "one more" })).statusCode).toBe(400);
    await database.execute("UPDATE api_key SET revoked_at = now() - interval '25 hours' WHERE public_id = $1", [
      insertedKeyId(0),
    ]);
    expect((await program.call("POST", "/api/v1/keys", { name: "one more" })).statusCode).toBe(201);
  });

  test("do not exceed the bound when many are created concurrently", async () => {
    const { database, accountId } = await start();
    await insertKeys(database, { accountId, from: 0, count: MAX_KEYS - 2 });
    const made = await Promise.allSettled(
      Array.from({ length: 8 }, () =>
        database.transaction((transaction) => createApiKey(transaction, { accountId, name: "one more", pepper: PEPPER })),
      ),
    );
    expect(made.filter(({ status }) => status === "fulfilled")).toHaveLength(2);
  });

  test("do not affect another account's", async () => {
    const { database, accountId, owner } = await start();
    await insertKeys(database, { accountId, from: 0, count: MAX_KEYS });
    const bob = await owner("bob@example.com");
    expect((await bob.post("/dashboard/keys/new", { name: "bob's" })).statusCode).toBe(200);
  });

  test("may name only models in the catalogue, on pages and in the API, when created and when changed", async () => {
    const { database, accountId, ann, program } = await start();
    await insertKeys(database, { accountId, from: 0, count: 1 });
    const message = expect.stringMatching(/no model "invented"/);
    const wish = { allowed_models: ["modelx-chat", "invented"] };
    for (const answer of [
      await program.call("POST", "/api/v1/keys", { name: "ci", ...wish }),
      await program.call("PATCH", `/api/v1/keys/${insertedKeyId(0)}`, wish),
    ]) {
      expect(answer.statusCode).toBe(400);
      expect(answer.json()).toMatchObject({ error: { field: "allowed_models", message } });
    }
    for (const path of ["/dashboard/keys/new", `/dashboard/keys/${insertedKeyId(0)}`]) {
      const answer = await ann.post(path, { name: "ci", models: "modelx-chat,invented" });
      expect([answer.statusCode, answer.body]).toEqual([400, expect.stringContaining("no model")]);
    }
    expect((await program.call("POST", "/api/v1/keys", { name: "ci", allowed_models: ["modelx-chat"] })).statusCode).toBe(201);
  });

  test("are created and changed a bounded number of times per day; disabling and deleting always works", async () => {
    const { database, accountId, ann, program } = await start();
    await insertKeys(database, { accountId, from: 0, count: 2 });
    await database.execute(
      `INSERT INTO audit_entry (id, account_id, person_id, action, subject)
       SELECT uuidv7(), $1, $2, 'key.changed', 'a key' FROM generate_series(1, $3::int)`,
      [accountId, ann.personId, ACCOUNT_BOUNDS.keyChangesADay],
    );
    const path = `/api/v1/keys/${insertedKeyId(0)}`;
    for (const answer of [
      await program.call("POST", "/api/v1/keys", { name: "ci" }),
      await program.call("PATCH", path, { name: "renamed" }),
      await program.call("POST", `${path}/rotate`, {}),
    ]) {
      expect(answer.statusCode).toBe(429);
      expect(answer.headers["retry-after"]).toBe("3600");
      expect(answer.json().error.message).toContain(String(ACCOUNT_BOUNDS.keyChangesADay));
    }
    expect((await program.call("PATCH", path, { disabled: true })).statusCode).toBe(200);
    expect((await program.call("DELETE", path)).statusCode).toBe(204);
    expect((await ann.post(`/dashboard/keys/${insertedKeyId(1)}/delete`)).statusCode).toBe(303);
  });

  test("of ApiKey resources have a separate bound", async () => {
    const { database, accountId } = await start();
    await insertKeys(database, { accountId, from: 0, count: ACCOUNT_BOUNDS.keysWithResources });
    await database.execute(
      `INSERT INTO resource_key (uid, public_id, origin, namespace, name)
       SELECT gen_random_uuid(), public_id, 'here', 'team', name FROM api_key`,
    );
    expect(await addResourceKey(database, resourceKey({ accountId }))).toBe("no room");
    const made = database.transaction((transaction) =>
      createApiKey(transaction, { accountId, name: "a page's", pepper: PEPPER }),
    );
    await expect(made).resolves.toMatchObject({ publicId: expect.any(String) });
  });
});

describe("what is a person's own", () => {
  test("is changed a bounded number of times per day, and ended at any time, which leaves an entry if there was something (S40)", async () => {
    const { database, ann } = await start();
    const rename = () => ann.post("/dashboard/settings/name", { name: "Ann" });
    expect((await rename()).statusCode).toBe(303);
    for (let times = 0; times < 3; times++) await ann.post("/dashboard/settings/sessions/end-others");
    const own = await listOwnActions(database, { personId: ann.personId, limit: 10 });
    expect(own.map(({ action }) => action)).toEqual(["person.renamed"]);
    await database.execute(
      `INSERT INTO audit_entry (id, account_id, person_id, action, subject)
       SELECT uuidv7(), NULL, $1, 'person.recovery_codes_made', 'ann' FROM generate_series(2, $2::int)`,
      [ann.personId, ACCOUNT_BOUNDS.personChangesADay],
    );
    const refused = await rename();
    expect([refused.statusCode, refused.body.includes("at most 200 times in 24 hours")]).toEqual([429, true]);
    await expect(renewRecoveryCodes(database, ann.personId)).rejects.toMatchObject({ code: "rate_limited" });
    await expect(database.transaction((transaction) => prepareFactor(transaction, ann.personId))).rejects.toMatchObject({
      code: "rate_limited",
    });
    expect((await ann.post("/dashboard/settings/second-factor/off")).statusCode).toBe(303);
  });
});

describe("an account's settings", () => {
  test("are changed a bounded number of times per day; turning off, lowering a role and removing always work (S40)", async () => {
    const { database, accountId, ann, program, owner } = await start();
    const bob = await owner("bob@example.com");
    await addMember(database, { accountId, personId: bob.personId, role: "member" });
    expect((await program.call("PUT", "/api/v1/attribution", { is_on: true })).statusCode).toBe(200);
    await database.execute(
      `INSERT INTO audit_entry (id, account_id, person_id, action, subject)
       SELECT uuidv7(), $1, $2, 'account.renamed', 'a name' FROM generate_series(1, $3::int)`,
      [accountId, ann.personId, ACCOUNT_BOUNDS.settingChangesADay],
    );
    const role = (to: string) => ann.post(`/dashboard/members/${bob.personId}/role`, { role: to });
    for (const refused of [
      await ann.post("/dashboard/settings/account", { accountName: "another" }),
      await ann.post("/dashboard/billing", { name: "Ann Ltd", address: "1 Main Street", taxId: "" }),
      await ann.post("/dashboard/credit/alert", { threshold: "5" }),
      await role("owner"),
    ])
      expect(refused.body).toContain("at most 1000 times in 24 hours");
    expect((await program.call("PUT", "/api/v1/attribution", { is_on: false })).statusCode).toBe(200);
    expect((await program.call("PUT", "/api/v1/attribution", { is_on: true })).statusCode).toBe(429);
    expect((await role("viewer")).statusCode).toBe(303);
    expect((await ann.post(`/dashboard/members/${bob.personId}/remove`)).statusCode).toBe(303);
  });

  test("leave one for a payment and for a canceled batch, too, however often the same form is sent (S40)", async () => {
    const { database, accountId, ann } = await start();
    const batchId = `batch_${"0".repeat(32)}`;
    // One of its requests is being answered.
    await database.execute(
      `INSERT INTO batch (id, account_id, key_id, interface, state, requests, due_at)
       VALUES ($1, $2, 'key', 'chat', 'running', 1, now() + interval '1 day')`,
      [batchId, accountId],
    );
    const payment = { amount: "20", attempt: "0199d8a0-0000-4000-8000-000000000001" };
    for (let times = 0; times < 3; times++) {
      expect((await ann.post(`/dashboard/batches/${batchId}/cancel`)).statusCode).toBe(303);
      expect((await ann.post("/dashboard/credit/top-up", payment)).statusCode).toBe(303);
    }
    const noted = await listActions(database, { accountId, limit: 100 });
    expect(noted.map(({ action }) => action)).toEqual(["credit.payment-begun", "batch.canceled"]);
  });

  test("leave one audit entry however often the same change is sent (S40)", async () => {
    const { database, accountId, ann, program, owner } = await start();
    const bob = await owner("bob@example.com");
    await addMember(database, { accountId, personId: bob.personId, role: "member" });
    for (let times = 0; times < 3; times++) {
      await program.call("DELETE", "/api/v1/attribution");
      await ann.post("/dashboard/credit/auto-top-up/off");
      await ann.post(`/dashboard/members/${bob.personId}/role`, { role: "viewer" });
      await ann.post("/dashboard/members/second-factor", { required: "no" });
    }
    const noted = await listActions(database, { accountId, limit: 100 });
    expect(noted.map(({ action }) => action).filter((action) => /tags|auto_top_up|changed|second_factor/.test(action))).toEqual([
      "member.changed",
      "account.tags_deleted",
    ]);
  });
});

describe("lists of keys", () => {
  test("are paged: every key once, newest first, even if many were created at the same moment", async () => {
    const { database, accountId, program, ann } = await start();
    await insertKeys(database, { accountId, from: 0, count: 120 });
    const seen: string[] = [];
    let cursor: string | null = null;
    let pages = 0;
    do {
      const query: string = cursor === null ? "?limit=50" : `?limit=50&cursor=${cursor}`;
      const { data, next_cursor } = (await program.get(`/api/v1/keys${query}`)).json();
      expect(data.length).toBeLessThanOrEqual(50);
      seen.push(...data.map(({ id }: { id: string }) => id));
      cursor = next_cursor;
      pages++;
    } while (cursor !== null);
    expect(pages).toBe(3);
    expect(seen.toSorted()).toEqual(Array.from({ length: 120 }, (_, number) => insertedKeyId(number)));

    const first = (await ann.get("/dashboard/keys")).body;
    expect(first.match(/data-label="Key"/g)).toHaveLength(50);
    const nextOf = (body: string) =>
      (/href="([^"]+)">Next/.exec(body)?.[1] ?? "").replaceAll("&#61;", "=").replaceAll(/&#38;|&amp;/g, "&");
    const second = (await ann.get(nextOf(first))).body;
    expect(second.match(/data-label="Key"/g)).toHaveLength(50);
    expect(second).toContain("51–100 of 120");
    const third = (await ann.get(nextOf(second))).body;
    expect([third.match(/data-label="Key"/g)?.length, nextOf(third)]).toEqual([20, ""]);
  });

  test("reject a foreign cursor, and a page beyond the maximum size", async () => {
    const { program } = await start();
    for (const query of ["?cursor=AAAA", "?limit=201", "?limit=0"])
      expect((await program.get(`/api/v1/keys${query}`)).statusCode).toBe(400);
  });

  test("sorted by usage are paged, too", async () => {
    const { database, accountId, program } = await start();
    await insertKeys(database, { accountId, from: 0, count: 7 });
    await database.execute(
      `INSERT INTO usage_by_day (account_id, key_id, model, day, requests, input_tokens, cached_input_tokens, cache_write_tokens,
         output_tokens, reasoning_tokens, charge_nano_usd)
       SELECT account_id, public_id, 'modelx-chat', (now() AT TIME ZONE 'UTC')::date, 1, 1, 0, 0, 1, 0, 5 FROM api_key`,
    );
    const ids: string[] = [];
    let next = "";
    do {
      const { data, next_cursor } = (await program.get(`/api/v1/usage/keys?limit=3${next}`)).json();
      ids.push(...data.map(({ key_id }: { key_id: string }) => key_id));
      next = next_cursor === null ? "" : `&cursor=${next_cursor}`;
    } while (next !== "");
    expect(ids).toEqual(Array.from({ length: 7 }, (_, number) => insertedKeyId(number)));
  });
});

describe("an account's requests", () => {
  test("to the API are counted for all of its tokens together", async () => {
    const { ann, program, makeProgram, accountId } = await start();
    const other = await makeProgram(accountId, ann.personId, "viewer");
    const left = async (client: typeof program) => Number((await client.get("/api/v1/account")).headers["x-ratelimit-remaining"]);
    const first = await left(program);
    expect(await left(other)).toBe(first - 1);
    expect(await left(program)).toBe(first - 2);
  });

  test("run a few at once; more wait, the rest get 429, and another account is served", async () => {
    const { database, ann, owner } = await start();
    const bob = await owner("bob@example.com");
    const { requestsInWork, requestsWaiting } = ACCOUNT_BOUNDS;
    const unlock = await lockTable(database, "api_key");
    const pages = Array.from({ length: 30 }, () => ann.get("/dashboard/keys"));
    let refused = 0;
    for (const page of pages) void page.then(({ statusCode }) => (refused += statusCode === 429 ? 1 : 0));
    const early = await Promise.race([Promise.any(pages), Promise.all(pages).then(() => undefined)]);
    expect(early?.statusCode).toBe(429);
    expect(early?.headers["retry-after"]).toBe("2");
    expect(early?.body).toContain(`This account has ${requestsInWork} requests in progress`);
    expect((await bob.get("/dashboard/members")).statusCode).toBe(200);
    // All have come: a place that is free sooner would be the next one's.
    await eventually(() => expect(refused).toBe(30 - requestsInWork - requestsWaiting));
    await unlock();
    const statuses = (await Promise.all(pages)).map(({ statusCode }) => statusCode);
    expect(statuses.filter((status) => status === 200)).toHaveLength(requestsInWork + requestsWaiting);
    expect(statuses.filter((status) => status === 429)).toHaveLength(30 - requestsInWork - requestsWaiting);
    expect((await ann.get("/dashboard/keys")).statusCode).toBe(200);
  });
});

describe("requests of visitors who have not signed in", () => {
  test("run a few at once; more wait, the rest get 429, and an account next to them is served", async () => {
    const { database, ann, guest, program } = await start();
    const unlock = await lockTable(database, "model");
    const pages = Array.from({ length: 120 }, () => guest.get("/dashboard/models"));
    let refused = 0;
    for (const page of pages) void page.then(({ statusCode }) => (refused += statusCode === 429 ? 1 : 0));
    // Four in work, and a hundred that wait.
    await eventually(() => expect(refused).toBe(16));
    expect((await ann.get("/dashboard/members")).statusCode).toBe(200);
    expect((await program.get("/api/v1/account")).statusCode).toBe(200);
    await unlock();
    const answers = await Promise.all(pages);
    expect(answers.filter(({ statusCode }) => statusCode === 200)).toHaveLength(104);
    expect(answers.find(({ statusCode }) => statusCode === 429)?.headers["retry-after"]).toBe("2");
    expect((await guest.get("/dashboard/models")).statusCode).toBe(200);
  });

  test("take the turns of one address for all addresses of an IPv6 network", async () => {
    const { database, client } = await start();
    const unlock = await lockTable(database, "model");
    const from = (address: string) => client({ "x-forwarded-for": address });
    const pages = Array.from({ length: 120 }, (_, index) => from(`2001:db8:0:1::${index.toString(16)}`).get("/dashboard/models"));
    let refused = 0;
    for (const page of pages) void page.then(({ statusCode }) => (refused += statusCode === 429 ? 1 : 0));
    await eventually(() => expect(refused).toBe(16));
    const other = from("2001:db8:0:2::1").get("/dashboard/models");
    await unlock();
    expect((await other).statusCode).toBe(200);
    expect((await Promise.all(pages)).filter(({ statusCode }) => statusCode === 200)).toHaveLength(104);
  });

  test("are read up to a thousand form fields", async () => {
    const { ann } = await start();
    const fields = Object.fromEntries(Array.from({ length: 2_000 }, (_, index) => [`f${index}`, ""]));
    expect((await ann.post("/dashboard/keys/new", { name: "first", ...fields })).statusCode).toBe(200);
    expect((await ann.post("/dashboard/keys/new", { ...fields, name: "last" })).statusCode).toBe(400);
  });
});

describe("the rest of an account", () => {
  test("has a bounded number of tokens, including those revoked within a day", async () => {
    const { database, accountId, ann } = await start();
    const make = () =>
      database.transaction((transaction) =>
        createManagementToken(transaction, { accountId, name: "t", role: "viewer", createdBy: ann.personId, expiresAt: null }),
      );
    for (let made = 1; made < ACCOUNT_BOUNDS.managementTokens; made++) await make();
    await expect(make()).rejects.toThrow(`at most ${ACCOUNT_BOUNDS.managementTokens} tokens`);
    const [token] = await listManagementTokens(database, accountId);
    await revokeManagementToken(database, { accountId, id: token?.id ?? "" });
    await expect(make()).rejects.toThrow("revoked in the last 24 hours");
  });

  test("has a bounded number of pending invitations", async () => {
    const { database, accountId, ann } = await start();
    await database.execute(
      `INSERT INTO invitation (token_hash, account_id, email, role, invited_by, expires_at)
       SELECT sha256(number::text::bytea), $1, 'person' || number || '@example.com', 'viewer', $2, now() + interval '1 day'
       FROM generate_series(1, $3::int) AS number`,
      [accountId, ann.personId, ACCOUNT_BOUNDS.openInvitations],
    );
    const wish = { accountId, email: "one-more@example.com", role: "viewer", invitedBy: ann.personId } as const;
    await expect(invite(database, wish)).rejects.toThrow(`at most ${ACCOUNT_BOUNDS.openInvitations} pending invitations`);
    // One to an address that has one already takes its place.
    await expect(invite(database, { ...wish, email: "person1@example.com" })).resolves.toBeTypeOf("string");
  });

  test("has a bounded number of members, which never locks out an account's own member", async () => {
    const { database, accountId, ann } = await start();
    await database.execute(
      `WITH made AS (INSERT INTO person (id, email, name, password_hash)
         SELECT gen_random_uuid(), 'person' || number || '@example.com', 'P', 'x' FROM generate_series(2, $2::int) AS number RETURNING id)
       INSERT INTO member (account_id, person_id, role) SELECT $1, id, 'viewer' FROM made`,
      [accountId, ACCOUNT_BOUNDS.members],
    );
    const { person } = await createPerson(database, "late@example.com");
    const token = await invite(database, { accountId, email: "late@example.com", role: "viewer", invitedBy: ann.personId });
    await expect(acceptInvitation(database, token, person)).rejects.toThrow(`at most ${ACCOUNT_BOUNDS.members} members`);
    await addMember(database, { accountId, personId: person.id, role: "viewer" });
    await expect(acceptInvitation(database, token, person)).resolves.toMatchObject({ accountId });
  });

  test("has a bounded number of sessions per person: one more ends the one unused for longest", async () => {
    const { database, accountId, ann } = await start();
    await database.execute("UPDATE session SET last_seen_at = now() - interval '1 hour'");
    const session = { personId: ann.personId, accountId, userAgent: "browser" };
    for (let made = 0; made < ACCOUNT_BOUNDS.sessionsOfPerson - 1; made++) await startSession(database, session);
    expect((await ann.get("/dashboard/settings")).statusCode).toBe(200);
    await database.execute("UPDATE session SET last_seen_at = now() - interval '1 hour' WHERE user_agent = 'test'");
    const token = await startSession(database, session);
    expect(await listSessions(database, ann.personId)).toHaveLength(ACCOUNT_BOUNDS.sessionsOfPerson);
    expect(await findSession(database, token)).toBeDefined();
    expect((await ann.get("/dashboard/settings")).statusCode).toBe(303);
  });

  test("has a bounded number of unpaid payments per day", async () => {
    const { database, accountId, ann } = await start();
    const actor = { accountId, personId: ann.personId };
    for (let number = 0; number < ACCOUNT_BOUNDS.unpaidTopUpsADay; number++) {
      await admitTopUp(database, actor);
      await beginPayment(database, { accountId, provider: "test", providerPaymentId: `p${number}`, amountNanoUsd: 1n });
    }
    await expect(admitTopUp(database, actor)).rejects.toMatchObject({ code: "rate_limited", status: 429 });
    await database.execute("UPDATE payment SET status = 'paid', paid_at = now() WHERE provider_payment_id = 'p0'");
    await expect(admitTopUp(database, actor)).resolves.toBeUndefined();
  });
});
