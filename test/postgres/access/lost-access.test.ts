import { Readable } from "node:stream";
import { expect, test } from "vitest";
import * as z from "zod";
import { postCredit } from "../../../ledger/credit/entries.ts";
import { changeKey } from "../../../ledger/keys/key-settings.ts";
import { listKeys } from "../../../ledger/keys/key-list.ts";
import { createApiKey, revokeApiKey } from "../../../ledger/keys/keys.ts";
import { setAccountLimits } from "../../../ledger/leases/account-limits.ts";
import { noteAction } from "../../../ledger/people/audit.ts";
import { listInvitations } from "../../../ledger/people/invitations.ts";
import { revokeManagementToken } from "../../../ledger/people/management-tokens.ts";
import { changeRole, listMembers, removeMember } from "../../../ledger/people/members.ts";
import type { Database } from "../../../ledger/postgres/database.ts";
import { createProject } from "../../../ledger/projects/projects.ts";
import { expectToWait, hold } from "../../support/billing/held-rows.ts";
import { PEPPER } from "../../support/billing/ledger.ts";
import { usePostgres } from "../../support/billing/postgres.ts";
import { openDashboard, type Client, type SignedIn, type TestDashboard } from "../../support/dashboard/dashboard.ts";
import { eventually } from "../../support/eventually.ts";
import { openScim, USERS } from "../scim/harness.ts";

/** Whoever loses access while a request of theirs arrives, or waits, gets nothing by it any more (S25, S56). */
const postgres = usePostgres();

async function open() {
  const { database, connect } = await postgres.migrated();
  return { ...(await openScim(database)), holder: connect("holder") };
}

/** Sends a request whose body does not come until it is finished. */
function begin(
  { app }: Pick<TestDashboard, "app">,
  { method, url, headers, body }: { method: "POST" | "PUT"; url: string; headers: Record<string, string>; body: string },
) {
  const payload = new Readable({ read() {} });
  payload.push(body.slice(0, -1));
  const length = String(Buffer.byteLength(body));
  const answer = app.inject({ method, url, headers: { ...headers, "content-length": length }, payload });
  return {
    async finish() {
      payload.push(body.slice(-1));
      payload.push(null);
      return answer;
    },
  };
}

/** Another owner, who may do everything: whose address is confirmed. */
async function addOwner({ database, accountId, inAccount }: Awaited<ReturnType<typeof open>>): Promise<SignedIn> {
  const owner = await inAccount(accountId, "owner");
  await database.execute("UPDATE person SET email_verified_at = now() WHERE id = $1", [owner.personId]);
  return owner;
}

async function namesOfKeys(database: Database, accountId: string) {
  return (await listKeys(database, { accountId, limit: 100 })).keys.map(({ name, status }) => `${name} ${status}`);
}

const JSON_BODY = { "content-type": "application/json" };

test.for(["revoked", "of a removed person"] as const)(
  "a management token that is %s while a body arrives creates nothing (S56)",
  async (state) => {
    const dashboard = await open();
    const { database, accountId, programOf, inAccount } = dashboard;
    const olga = await inAccount(accountId, "owner");
    const { token, tokenId } = await programOf(accountId, olga.personId, "owner");
    const headers = { ...JSON_BODY, authorization: `Bearer ${token}` };
    const call = begin(dashboard, { method: "POST", url: "/api/v1/keys", headers, body: JSON.stringify({ name: "late" }) });
    // From then on, it is known.
    await eventually(async () => expect(await isUsed(database, "management_token", `id = '${tokenId}'`)).toBe(true));
    if (state === "revoked") await revokeManagementToken(database, { accountId, id: tokenId });
    else await database.transaction((transaction) => removeMember(transaction, { accountId, personId: olga.personId }));
    expect(await call.finish()).toMatchObject({ statusCode: 401 });
    expect(await namesOfKeys(database, accountId)).toEqual([]);
  },
);

async function isUsed(database: Database, table: "management_token" | "session", where: string): Promise<boolean> {
  const column = table === "session" ? "last_seen_at > now() - interval '30 seconds'" : "last_used_at IS NOT NULL";
  return (await database.execute(`SELECT FROM ${table} WHERE ${column} AND ${where}`)) > 0;
}

test("a session whose person is removed while a body arrives creates nothing (S56)", async () => {
  const dashboard = await open();
  const { database, accountId, inAccount } = dashboard;
  const bob = await inAccount(accountId, "member");
  await database.execute("UPDATE session SET last_seen_at = now() - interval '1 hour' WHERE person_id = $1", [bob.personId]);
  const headers = { ...JSON_BODY, cookie: bob.cookie, origin: "http://gateway.example" };
  const call = begin(dashboard, { method: "POST", url: "/api/v1/keys", headers, body: JSON.stringify({ name: "late" }) });
  await eventually(async () => expect(await isUsed(database, "session", `person_id = '${bob.personId}'`)).toBe(true));
  await database.transaction((transaction) => removeMember(transaction, { accountId, personId: bob.personId }));
  expect(await call.finish()).toMatchObject({ statusCode: 401 });
  expect(await namesOfKeys(database, accountId)).toEqual([]);
});

/** What is sent while the account changes, and waits until it has. */
const CHANGES = [
  ["a key", (bob) => bob.post("/dashboard/keys/new", { name: "late", models: "" })],
  ["another value of a key", (bob, keyId) => bob.post(`/dashboard/keys/${keyId}/rotate`, { overlap: "0" })],
  ["an enabled key", (bob, keyId) => bob.post(`/dashboard/keys/${keyId}/enable`)],
  ["a playground key", (bob) => bob.post("/dashboard/playground/key")],
  ["an invitation", (bob) => bob.post("/dashboard/members/invite", { email: "mallory@example.com", role: "owner" })],
  ["a token", (bob) => bob.post("/dashboard/tokens", { name: "late", role: "owner", expires: "" })],
  ["a webhook", (bob) => bob.call("POST", "/api/v1/webhooks", { url: "https://example.com/", events: ["key.created"] })],
  ["a project", (bob) => bob.call("POST", "/api/v1/projects", { name: "late" })],
  ["a budget", (bob) => bob.call("PUT", "/api/v1/budgets", { scope: "account", amount: "1" })],
  ["limits", (bob) => bob.call("PUT", "/api/v1/limits", { spend_per_day_usd: "1" })],
  ["billing details", (bob) => bob.post("/dashboard/billing", { name: "late", address: "", taxId: "" })],
] as const satisfies readonly (readonly [string, (bob: SignedIn, keyId: string) => Promise<{ statusCode: number }>])[];

test.for(CHANGES)("whoever is removed while they wait to make %s does not make it (S56)", async ([, make]) => {
  const opened = await open();
  const { database, accountId, program, holder } = opened;
  const bob = await addOwner(opened);
  const { publicId } = await createApiKey(database, { accountId, name: "his", pepper: PEPPER });
  await noteAction(database, { accountId, personId: bob.personId, action: "key.created", subject: publicId });
  // So that there is something to enable.
  await changeKey(database, { accountId, publicId }, { isDisabled: true });
  const before = await everythingOf(database, accountId);

  const release = await hold(holder, "SELECT FROM account WHERE id = $1 FOR NO KEY UPDATE", [accountId]);
  const removed = program.call("DELETE", `${USERS}/${bob.personId}`);
  await eventually(() => expectToWait(holder, 1));
  const made = make(bob, publicId);
  await eventually(() => expectToWait(holder, 2));
  await release();
  expect((await removed).statusCode).toBe(204);
  expect((await made).statusCode).toBeGreaterThanOrEqual(400);
  expect(await everythingOf(database, accountId)).toEqual(before);
});

/** What a member may have left in an account. */
async function everythingOf(database: Database, accountId: string) {
  const tables = ["management_token", "webhook_endpoint", "project", "budget", "billing_details", "playground_key"];
  const counts = await Promise.all(
    tables.map((table) => database.execute(`SELECT FROM ${table} WHERE account_id = $1`, [accountId])),
  );
  const [account] = await database.query({
    text: `SELECT name, status, limits, (SELECT array_agg(secret_hash) FROM api_key WHERE account_id = $1) AS hashes
           FROM account WHERE id = $1`,
    values: [accountId],
    row: z.strictObject({ name: z.string(), status: z.string(), limits: z.unknown(), hashes: z.array(z.instanceof(Buffer)) }),
  });
  return {
    counts,
    account,
    keys: await namesOfKeys(database, accountId),
    invitations: (await listInvitations(database, accountId)).map(({ email }) => email),
  };
}

/** What owners alone do, and what lets whoever does it stay, or hurts others. */
const OF_OWNERS = [
  ["make somebody an owner", ({ bob, carlId }) => bob.post(`/dashboard/members/${carlId}/role`, { role: "owner" })],
  ["take an owner's role", ({ bob, annId }) => bob.post(`/dashboard/members/${annId}/role`, { role: "viewer" })],
  ["remove an owner", ({ bob, annId }) => bob.post(`/dashboard/members/${annId}/remove`, { revoke: "yes" })],
  ["revoke a member's keys", ({ bob, carlId }) => bob.post(`/dashboard/members/${carlId}/access/revoke`)],
  ["close the account", ({ bob, name }) => bob.post("/dashboard/settings/close", { name })],
  ["rename the account", ({ bob }) => bob.post("/dashboard/settings/account", { accountName: "Mallory" })],
  ["raise limits", ({ bob }) => bob.call("PUT", "/api/v1/limits", {})],
  ["set a budget", ({ bob }) => bob.call("PUT", "/api/v1/budgets", { scope: "account", amount: "1" })],
  ["add a webhook", ({ bob }) => bob.call("POST", "/api/v1/webhooks", { url: "https://example.com/", events: ["key.created"] })],
  ["create a project", ({ bob }) => bob.call("POST", "/api/v1/projects", { name: "late" })],
  ["delete a project", ({ bob, projectId }) => bob.call("DELETE", `/api/v1/projects/${projectId}`)],
  ["remove a member by a program", ({ program, carlId }) => program.call("DELETE", `${USERS}/${carlId}`)],
] as const satisfies readonly (readonly [string, (asked: OwnersTools) => Promise<{ statusCode: number }>])[];

interface OwnersTools {
  bob: SignedIn;
  /** Of his. */
  program: Client;
  annId: string;
  carlId: string;
  projectId: string;
  /** Of the account. */
  name: string;
}

test.for(OF_OWNERS.flatMap(([what, send]) => (["member", "removed"] as const).map((state) => ({ what, send, state }))))(
  "an owner who is $state when it is their turn to $what does not (S56)",
  async ({ send, state }) => {
    const opened = await open();
    const { database, accountId, ann, program: others, programOf, inAccount, holder } = opened;
    const bob = await addOwner(opened);
    const { personId: carlId } = await inAccount(accountId, "member");
    await inAccount(accountId, "owner");
    const { publicId } = await createApiKey(database, { accountId, name: "carl's", pepper: PEPPER });
    await noteAction(database, { accountId, personId: carlId, action: "key.created", subject: publicId });
    const projectId = await database.transaction((transaction) =>
      createProject(transaction, { accountId, personId: ann.personId, tokenId: null }, "kept"),
    );
    await database.transaction((transaction) =>
      setAccountLimits(transaction, { accountId, by: "owner", limits: { requestsPerMinute: 5 }, personId: ann.personId }),
    );
    const [account] = await database.query({
      text: "SELECT name FROM account WHERE id = $1",
      values: [accountId],
      row: z.strictObject({ name: z.string() }),
    });
    const program = await programOf(accountId, bob.personId, "owner");
    const tools = { bob, program, annId: ann.personId, carlId, projectId, name: account?.name ?? "" };
    const before = await everythingOf(database, accountId);
    const othersOf = async () =>
      (await listMembers(database, accountId))
        .filter(({ personId }) => personId !== bob.personId)
        .map(({ personId, role }) => ({ personId, role }));
    const othersBefore = await othersOf();

    const release = await hold(holder, "SELECT FROM account WHERE id = $1 FOR NO KEY UPDATE", [accountId]);
    const lost =
      state === "removed"
        ? others.call("DELETE", `${USERS}/${bob.personId}`)
        : others.call("PATCH", `${USERS}/${bob.personId}`, {
            Operations: [{ op: "replace", path: "roles", value: [{ value: "member" }] }],
          });
    await eventually(() => expectToWait(holder, 1));
    const sent = send(tools);
    await eventually(() => expectToWait(holder, 2));
    await release();
    expect((await lost).statusCode).toBeLessThan(300);
    expect((await sent).statusCode).toBeGreaterThanOrEqual(400);
    const after = await everythingOf(database, accountId);
    // But for his program's token, which ends with him.
    const [tokens, ...counts] = after.counts;
    expect({ ...after, counts: [before.counts[0], ...counts] }).toEqual(before);
    expect(tokens).toBeGreaterThan(0);
    expect(await othersOf()).toEqual(othersBefore);
  },
);

test("an owner who becomes a member while they wait to invite an owner does not invite one", async () => {
  const opened = await open();
  const { database, accountId, holder } = opened;
  const bob = await addOwner(opened);
  const release = await hold(holder, "SELECT FROM account WHERE id = $1 FOR NO KEY UPDATE", [accountId]);
  const demoted = database.transaction((transaction) =>
    changeRole(transaction, { accountId, personId: bob.personId, role: "member" }),
  );
  await eventually(() => expectToWait(holder, 1));
  const invited = bob.post("/dashboard/members/invite", { email: "mallory@example.com", role: "owner" });
  await eventually(() => expectToWait(holder, 2));
  await release();
  await demoted;
  expect((await invited).statusCode).toBe(400);
  expect(await listInvitations(database, accountId)).toEqual([]);
});

const BOUNDARY = "----form";
const FORM_BODY = [
  `--${BOUNDARY}\r\ncontent-disposition: form-data; name="purpose"\r\n\r\nbatch\r\n`,
  `--${BOUNDARY}\r\ncontent-disposition: form-data; name="file"; filename="requests.jsonl"\r\n\r\n{}\r\n--${BOUNDARY}--\r\n`,
].join("");
const LIST_BODY = JSON.stringify({
  requests: [{ custom_id: "1", params: { model: "m", max_tokens: 5, messages: [{ role: "user", content: "Hello." }] } }],
});

const UPLOADS = [
  ["file", "batch_file", { url: "/v1/files", body: FORM_BODY, type: `multipart/form-data; boundary=${BOUNDARY}` }],
  ["list of requests", "batch", { url: "/v1/messages/batches", body: LIST_BODY, type: "application/json" }],
] as const;
const IS_THERE = { batch_file: "true", batch: "state <> 'arriving' OR deleted_at IS NULL" } as const;
const ENDS = ["deleted", "disabled", "expired"] as const;

test.for(UPLOADS.flatMap((upload) => ENDS.map((state) => [...upload, state] as const)))(
  "a %s whose key is no longer valid at its end leaves nothing (S25, S58)",
  async ([, table, { url, body, type }, state]) => {
    const dashboard = await open();
    const { database, accountId } = dashboard;
    await postCredit(database, { accountId, kind: "grant", amountNanoUsd: 1_000_000_000n, reference: "credit" });
    const { publicId, value } = await createApiKey(database, { accountId, name: "key", pepper: PEPPER });
    const headers = { authorization: `Bearer ${value}`, "content-type": type };
    const upload = begin(dashboard, { method: "POST", url, headers, body });
    await eventually(async () => expect(await database.execute(`SELECT FROM ${table}`)).toBe(1));
    if (state === "deleted") await revokeApiKey(database, publicId);
    else
      await changeKey(database, { accountId, publicId }, state === "disabled" ? { isDisabled: true } : { expiresAt: new Date() });
    expect(await upload.finish()).toMatchObject({ statusCode: 401 });
    await eventually(async () => expect(await database.execute(`SELECT FROM ${table} WHERE ${IS_THERE[table]}`)).toBe(0));
  },
);

test("a batch whose key is deleted while its description arrives is not created (S25, S58)", async () => {
  const { database } = await postgres.migrated();
  const { isKeyKnown, watched } = watchKeys(database);
  const dashboard = await openDashboard(watched);
  const { accountId } = await dashboard.owner("ann@example.com");
  await postCredit(database, { accountId, kind: "grant", amountNanoUsd: 1_000_000_000n, reference: "credit" });
  const { publicId, value } = await createApiKey(database, { accountId, name: "key", pepper: PEPPER });
  const headers = { ...JSON_BODY, authorization: `Bearer ${value}` };
  const body = JSON.stringify({ input_file_id: "file-0", endpoint: "/v1/chat/completions", completion_window: "24h" });
  const creation = begin(dashboard, { method: "POST", url: "/v1/batches", headers, body });
  await eventually(() => expect(isKeyKnown()).toBe(true));
  await revokeApiKey(database, publicId);
  // The file, which there is not, is looked for later.
  expect(await creation.finish()).toMatchObject({ statusCode: 401 });
});

/** Tells when the key of a request has been read. */
function watchKeys(database: Database) {
  let isKnown = false;
  const watched: Database = {
    ...database,
    async query(asked) {
      const rows = await database.query(asked);
      isKnown ||= asked.text.includes("secret_hash");
      return rows;
    },
  };
  return { watched, isKeyKnown: () => isKnown };
}
