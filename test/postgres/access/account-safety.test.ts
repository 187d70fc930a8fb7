import { expect, test } from "vitest";
import type { Letter } from "../../../dashboard/mail/letter.ts";
import { createOutbox } from "../../../dashboard/mail/outbox.ts";
import { createPayments } from "../../../dashboard/payments/payments.ts";
import { setAccountStatus } from "../../../ledger/accounts/accounts.ts";
import type { Database } from "../../../ledger/postgres/database.ts";
import { listManagementTokens } from "../../../ledger/people/management-tokens.ts";
import { addMember, changeRole, listMembers, removeMember } from "../../../ledger/people/members.ts";
import { findPersonByEmail } from "../../../ledger/people/persons.ts";
import { openDashboard, type SignedIn } from "../../support/dashboard/dashboard.ts";
import { eventually } from "../../support/eventually.ts";
import { expectToWait, hold } from "../../support/billing/held-rows.ts";
import { PEPPER } from "../../support/billing/ledger.ts";
import { listAllKeys } from "../../support/dashboard/listed-keys.ts";
import { usePostgres } from "../../support/billing/postgres.ts";

/** The rights of an account and of its members. */
const postgres = usePostgres();
const PASSWORD = "a few words together";
const BASE_URL = "http://gateway.example";
const MONEY = { below: "5", charge: "20", monthly: "100" };

/** A service whose letters arrive. */
async function open(options: Parameters<typeof openDashboard>[1] = {}) {
  const { database } = await postgres.migrated();
  const letters: Letter[] = [];
  const mailer = { outbox: null, send: async (letter: Letter) => void letters.push(letter) };
  const payments = await createPayments({ provider: "test" }, { publicBaseUrl: BASE_URL, pepper: PEPPER });
  const dashboard = await openDashboard(database, { mailer, payments, ...options });
  const letterTo = (to: string) =>
    eventually(() => {
      const found = letters.findLast((letter) => letter.to === to);
      if (found === undefined) throw new Error(`nothing was written to ${to}`);
      return found;
    });
  return { ...dashboard, letters, letterTo };
}

const linkIn = ({ text }: Letter): URL => new URL(/^https?:\S+$/m.exec(text)?.[0] ?? "");
const pathOf = ({ pathname, search }: URL): string => pathname + search;
const prove = (database: Database) => database.execute("UPDATE person SET email_verified_at = now()");
const keyForm = (name: string) => ({ name });

test("until an address is confirmed its person cannot invite, pay, or create a token or a second key (S24)", async () => {
  const { owner, database, letters, letterTo } = await open();
  const ann = await owner("ann@example.com");
  expect((await ann.get("/dashboard")).body).toContain("Confirm your email address, ann@example.com");
  const tries = () =>
    Promise.all([
      ann.post("/dashboard/members/invite", { email: "bob@example.com", role: "viewer" }),
      ann.post("/dashboard/credit/top-up", { amount: "5", attempt: "0199d8a0-0000-4000-8000-000000000001" }),
      ann.post("/dashboard/credit/auto-top-up", MONEY),
      ann.post("/dashboard/tokens", { name: "program", role: "viewer" }),
    ]);
  for (const { statusCode, body } of await tries())
    expect([statusCode, body.includes("Confirm your email address, ann@example.com, first")]).toEqual([403, true]);
  expect((await ann.post("/dashboard/keys/new", keyForm("first"))).statusCode).toBe(200);
  expect((await ann.post("/dashboard/keys/new", keyForm("second"))).statusCode).toBe(400);
  expect((await ann.call("POST", "/api/v1/keys", { name: "second" })).statusCode).toBe(403);
  expect(await listAllKeys(database, ann)).toHaveLength(1);
  expect(letters).toEqual([]);

  expect((await ann.post("/dashboard/confirm-email/send")).statusCode).toBe(200);
  const link = linkIn(await letterTo("ann@example.com"));
  const token = link.searchParams.get("token") ?? "";
  const eve = await owner("eve@example.com");
  expect((await eve.get(pathOf(link))).statusCode).toBe(404);
  expect((await eve.post("/dashboard/confirm-email", { token })).statusCode).toBe(404);
  expect((await ann.get(pathOf(link))).body).toContain("Confirm that this address is yours");
  expect(await findPersonByEmail(database, "ann@example.com")).toMatchObject({ isEmailVerified: false });
  expect((await ann.post("/dashboard/confirm-email", { token })).statusCode).toBe(303);
  expect((await ann.get("/dashboard")).body).not.toContain("Confirm your email address, ann@example.com");
  expect((await tries()).map(({ statusCode }) => statusCode)).toEqual([200, 303, 303, 200]);
  expect((await ann.post("/dashboard/keys/new", keyForm("second"))).statusCode).toBe(200);
});

test.for(["none", "outbox"] as const)("without mail delivery (%s) no confirmation is required", async (mail) => {
  const { owner } = await open({ mailer: mail === "none" ? undefined : createOutbox() });
  const ann = await owner("ann@example.com");
  expect((await ann.get("/dashboard")).body).not.toContain("Confirm that");
  expect((await ann.post("/dashboard/members/invite", { email: "bob@example.com", role: "viewer" })).statusCode).toBe(200);
  for (const name of ["first", "second"]) expect((await ann.post("/dashboard/keys/new", keyForm(name))).statusCode).toBe(200);
});

test("with mail delivery, sign-up begins with a link, and only the mailbox learns whether its address is registered", async () => {
  const { guest, owner, letterTo, letters, database } = await open();
  await owner("ann@example.com");
  const direct = await guest.post("/dashboard/sign-up", { name: "Eve", email: "eve@example.com", password: PASSWORD });
  expect([direct.statusCode, direct.headers["set-cookie"]]).toEqual([400, undefined]);
  const [known, unknown] = await Promise.all(
    ["ann@example.com", "new@example.com"].map((email) => guest.post("/dashboard/sign-up/address", { email })),
  );
  expect([known?.statusCode, known?.body]).toEqual([200, unknown?.body]);
  expect((await letterTo("ann@example.com")).subject).toContain("already have a Model Gateway account");
  const link = linkIn(await letterTo("new@example.com"));
  const proof = link.searchParams.get("proof") ?? "";
  expect((await guest.get(pathOf(link))).body).toContain("new@example.com");
  const made = await guest.post("/dashboard/sign-up", { name: "New", password: PASSWORD, proof });
  expect([made.statusCode, made.headers["location"]]).toEqual([303, "/dashboard"]);
  expect(await findPersonByEmail(database, "new@example.com")).toMatchObject({ isEmailVerified: true });
  expect(letters).toHaveLength(2);
});

test("an invited person confirms an address, too, and joins with it even if sign-up is closed", async () => {
  const { guest, owner, letterTo, database } = await open({ signUp: { isOpen: false, domains: ["example.com"] } });
  const ann = await owner("ann@example.com");
  await prove(database);
  await ann.post("/dashboard/members/invite", { email: "bob@example.org", role: "viewer" });
  const invitation = linkIn(await letterTo("bob@example.org")).searchParams.get("token") ?? "";
  expect((await guest.get(`/dashboard/sign-up?invitation=${invitation}`)).body).toContain("Send sign-up link");
  expect((await guest.post("/dashboard/sign-up/address", { email: "bob@example.org", invitation })).statusCode).toBe(200);
  const link = await eventually(async () => {
    const found = linkIn(await letterTo("bob@example.org"));
    expect(found.pathname).toBe("/dashboard/sign-up");
    return found;
  });
  expect((await guest.get(pathOf(link))).body).toContain("You are joining ann.");
  const joined = await guest.post("/dashboard/sign-up", {
    name: "Bob",
    password: PASSWORD,
    invitation,
    proof: link.searchParams.get("proof") ?? "",
  });
  expect(joined.statusCode).toBe(303);
  expect(await findPersonByEmail(database, "bob@example.org")).toMatchObject({ isEmailVerified: true });
});

test("strangers cause at most six emails a day to one mailbox, from however many accounts", async () => {
  const { owner, guest, letters, database } = await open();
  for (let account = 0; account < 8; account++) {
    const inviter = await owner(`inviter-${account}@example.com`);
    await prove(database);
    const answer = await inviter.post("/dashboard/members/invite", { email: "Victim@example.org", role: "viewer" });
    expect([answer.statusCode, answer.body.includes("too many emails today")]).toEqual([200, account >= 6]);
  }
  await guest.post("/dashboard/sign-up/address", { email: "victim@example.org" });
  expect(letters.filter(({ to }) => to.toLowerCase() === "victim@example.org")).toHaveLength(6);
});

test("a form of one account changes nothing in the account now in view; forms about the person still work", async () => {
  const { owner, client, database } = await open({ mailer: undefined });
  const ann = await owner("ann@example.com");
  const other = await owner("bob@example.com");
  await addMember(database, { accountId: other.accountId, personId: ann.personId, role: "owner" });
  const tab = client({ cookie: ann.cookie }, ann.csrf);
  expect((await tab.post(`/dashboard/accounts/${other.accountId}/view`)).statusCode).toBe(303);
  const stale = await tab.post("/dashboard/keys/new", keyForm("in the wrong account"));
  expect([stale.statusCode, stale.body.includes("this form belongs to another account")]).toEqual([403, true]);
  expect(await listAllKeys(database, other)).toEqual([]);
  expect((await tab.post("/dashboard/settings/name", { name: "Ann" })).statusCode).toBe(303);
  expect((await tab.post(`/dashboard/accounts/${ann.accountId}/view`)).statusCode).toBe(303);
  expect((await tab.post("/dashboard/keys/new", keyForm("here"))).statusCode).toBe(200);
  const forged = ann.csrf.replace(ann.accountId, other.accountId);
  expect((await client({ cookie: ann.cookie }, forged).post("/dashboard/sign-out")).statusCode).toBe(403);
});

test("a token has no more rights than its creator has now, and none once they are gone", async () => {
  const { owner, inAccount, program, database } = await open({ mailer: undefined });
  const ann = await owner("ann@example.com");
  const bob = await inAccount(ann.accountId, "owner", "bob@example.com");
  const token = await program(ann.accountId, bob.personId, "owner");
  const make = async () => (await token.call("POST", "/api/v1/keys", { name: "new" })).statusCode;
  const role = async () => (await token.get("/api/v1/account")).json<{ caller?: { role: string } }>().caller?.role;
  expect([await make(), await role()]).toEqual([201, "owner"]);
  await database.transaction((transaction) =>
    changeRole(transaction, { accountId: ann.accountId, personId: bob.personId, role: "viewer" }),
  );
  expect([await make(), await role()]).toEqual([403, "viewer"]);
  await database.transaction((transaction) => removeMember(transaction, { accountId: ann.accountId, personId: bob.personId }));
  expect([await make(), await role()]).toEqual([401, undefined]);
  expect((await listManagementTokens(database, ann.accountId)).map(({ status }) => status)).toEqual(["stopped"]);
  expect((await ann.get("/dashboard/tokens")).body).toContain("stopped");
});

async function openTeam() {
  const dashboard = await open({ mailer: undefined });
  const { owner, inAccount, program } = dashboard;
  const ann = await owner("ann@example.com");
  const bob = await inAccount(ann.accountId, "member", "bob@example.com");
  await ann.post("/dashboard/keys/new", keyForm("of Ann"));
  await bob.post("/dashboard/keys/new", keyForm("of Bob"));
  const token = await program(ann.accountId, bob.personId, "member");
  await token.call("POST", "/api/v1/keys", { name: "of Bob's program" });
  const names = async ({ accountId }: SignedIn) =>
    (await listAllKeys(dashboard.database, { accountId })).map(({ name }) => name).toSorted();
  return { ...dashboard, ann, bob, names };
}

test("removing a member shows the keys and tokens that they created, and deletes them unless declined", async () => {
  const { ann, bob, names, database } = await openTeam();
  const page = (await ann.get(`/dashboard/members/${bob.personId}/remove`)).body;
  expect([page.includes("of Bob"), page.includes("of Bob&#39;s program"), page.includes("of Ann")]).toEqual([true, true, false]);
  expect(page).toContain("They stop working until bob is a member again:");
  expect(page).toContain("Also delete these keys and revoke these tokens");
  expect((await ann.post(`/dashboard/members/${bob.personId}/remove`, { revoke: "yes" })).statusCode).toBe(303);
  expect(await names(ann)).toEqual(["of Ann"]);
  expect(await listManagementTokens(database, ann.accountId)).toEqual([]);
});

test("a member is removed together with the keys that they know: not before, nor without them", async () => {
  const { ann, bob, names, database } = await openTeam();
  const members = async () => (await listMembers(database, ann.accountId)).map(({ email }) => email);
  // Where the key's deletion waits.
  const release = await hold(database, "SELECT FROM api_key WHERE name = 'of Bob' FOR UPDATE");
  const removed = ann.post(`/dashboard/members/${bob.personId}/remove`, { revoke: "yes" });
  await eventually(() => expectToWait(database, 1));
  expect(await members()).toContain("bob@example.com");
  await release();
  expect((await removed).statusCode).toBe(303);
  expect(await members()).not.toContain("bob@example.com");
  expect(await names(ann)).toEqual(["of Ann"]);
});

test("what is not there is not offered for deletion with a member", async () => {
  const { owner, inAccount, program } = await open({ mailer: undefined });
  const ann = await owner("ann@example.com");
  const [bob, cem, dan] = [
    await inAccount(ann.accountId, "member", "bob@example.com"),
    await inAccount(ann.accountId, "member", "cem@example.com"),
    await inAccount(ann.accountId, "member", "dan@example.com"),
  ];
  await bob.post("/dashboard/keys/new", keyForm("of Bob"));
  await program(ann.accountId, cem.personId, "member");
  const offerOf = async ({ personId }: SignedIn) =>
    / (Also [^<]*[a-z])\s*</.exec((await ann.get(`/dashboard/members/${personId}/remove`)).body)?.[1];
  expect([await offerOf(bob), await offerOf(cem), await offerOf(dan)]).toEqual([
    "Also delete these keys",
    "Also revoke these tokens",
    undefined,
  ]);
});

test("keys of a removed member keep working if the owner keeps them", async () => {
  const { ann, bob, names } = await openTeam();
  await ann.post(`/dashboard/members/${bob.personId}/remove`);
  expect(await names(ann)).toEqual(["of Ann", "of Bob", "of Bob's program"]);
});

test("demoting a member to viewer shows what they created, and offers to delete it", async () => {
  const { ann, bob, names } = await openTeam();
  const changed = await ann.post(`/dashboard/members/${bob.personId}/role`, { role: "viewer" });
  const access = `/dashboard/members/${bob.personId}/access`;
  expect(changed.headers["location"]).toBe(access);
  expect((await ann.get(access)).body).toContain("of Bob&#39;s program");
  expect((await ann.post(`${access}/revoke`)).statusCode).toBe(303);
  expect(await names(ann)).toEqual(["of Ann"]);
  expect((await ann.get(access)).body).toContain("no key or token that still works");
});

test("every page of a suspended account shows that it is suspended, and it accepts no payment and no card", async () => {
  const { owner, database } = await open({ mailer: undefined });
  const ann = await owner("ann@example.com");
  await setAccountStatus(database, ann.accountId, "suspended");
  for (const path of ["", "/keys", "/credit", "/credit/top-up", "/settings", "/members", "/playground"])
    expect((await ann.get(`/dashboard${path}`)).body, path).toContain("This account is suspended");
  const credit = (await ann.get("/dashboard/credit")).body;
  for (const label of ["Add credit", "Continue to add a card", "Charge (USD)"]) expect(credit).not.toContain(label);
  expect((await ann.get("/dashboard/credit/top-up")).body).not.toContain("Continue to payment");
  const attempt = "0199d8a0-0000-4000-8000-000000000001";
  const paid = await ann.post("/dashboard/credit/top-up", { amount: "5", attempt });
  expect([paid.statusCode, paid.body.includes("so it cannot make payments")]).toEqual([403, true]);
  expect((await ann.post("/dashboard/credit/auto-top-up", MONEY)).statusCode).toBe(403);
  expect((await ann.post("/dashboard/credit/auto-top-up/card")).statusCode).toBe(403);
  await setAccountStatus(database, ann.accountId, "active");
  expect((await ann.get("/dashboard")).body).not.toContain("This account is suspended");
  expect((await ann.post("/dashboard/credit/top-up", { amount: "5", attempt })).statusCode).toBe(303);
});

test("a NUL in a path is a page that does not exist", async () => {
  const { owner, app, logged } = await open();
  const ann = await owner("ann@example.com");
  const paths = ["settings/sessions/%00/end", "members/invitations/%00/revoke", "tokens/a%00b/revoke", "accounts/%00/view"];
  for (const path of paths) expect((await ann.post(`/dashboard/${path}`)).statusCode, path).toBe(404);
  expect((await app.inject({ url: "/api/v1/keys/%00" })).statusCode).toBe(404);
  expect(logged()).not.toContain("internal error on a page");
});

test("browsers must use https if that is the address, for assets and errors, too", async () => {
  const { guest } = await open({ publicBaseUrl: "https://gateway.example" });
  for (const path of ["/dashboard/sign-in", "/dashboard/nothing", "/api/v1/keys"])
    expect((await guest.get(path)).headers["strict-transport-security"], path).toBe("max-age=31536000");
  const plain = await open();
  expect((await plain.guest.get("/dashboard/sign-in")).headers["strict-transport-security"]).toBeUndefined();
});

test("the outbox is readable only under this machine's names", async () => {
  const { guest } = await open({ mailer: createOutbox() });
  const statusFor = async (host: string, more: Record<string, string> = {}) =>
    (await guest.get("/dashboard/outbox", { headers: { host, ...more } })).statusCode;
  for (const host of ["localhost:8080", "127.0.0.1:8080", "[::1]:8080", "gateway.example"])
    expect(await statusFor(host), host).toBe(200);
  for (const host of ["evil.example", "localhost.evil.example", "127.0.0.1.nip.example:8080"])
    expect(await statusFor(host), host).toBe(404);
  expect(await statusFor("evil.example", { "x-forwarded-host": "localhost" })).toBe(404);
});

test("DELETE with a content type and no body deletes", async () => {
  const { owner, program, app, database } = await open({ mailer: undefined });
  const ann = await owner("ann@example.com");
  const { token } = await program(ann.accountId, ann.personId, "owner");
  const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
  const made = await app.inject({ method: "POST", url: "/api/v1/keys", headers, payload: { name: "new" } });
  const { id } = made.json<{ id: string }>();
  expect((await app.inject({ method: "DELETE", url: `/api/v1/keys/${id}`, headers })).statusCode).toBe(204);
  expect(await listAllKeys(database, ann)).toEqual([]);
  const empty = await app.inject({ method: "POST", url: "/api/v1/keys", headers });
  expect([empty.statusCode, empty.json<{ error: { type: string } }>().error.type]).toEqual([400, "invalid_request"]);
  const broken = await app.inject({ method: "POST", url: "/api/v1/keys", headers, payload: "{" });
  expect([broken.statusCode, broken.json<{ error: { message: string } }>().error.message]).toEqual([
    400,
    "The body is not valid JSON.",
  ]);
});
