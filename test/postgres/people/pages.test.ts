import { expect, test } from "vitest";
import type { Outbox } from "../../../dashboard/mail/letter.ts";
import { createOutbox } from "../../../dashboard/mail/outbox.ts";
import { postCredit } from "../../../ledger/credit/entries.ts";
import { createApiKey, isKeyInForce } from "../../../ledger/keys/keys.ts";
import { listInvitations } from "../../../ledger/people/invitations.ts";
import { addMember, listMembers, listMemberships } from "../../../ledger/people/members.ts";
import { findPersonByEmail } from "../../../ledger/people/persons.ts";
import { openDashboard, type Client } from "../../support/dashboard/dashboard.ts";
import { eventually } from "../../support/eventually.ts";
import { PEPPER } from "../../support/billing/ledger.ts";
import { PASSWORD as PERSON_PASSWORD } from "../../support/dashboard/people.ts";
import { usePostgres } from "../../support/billing/postgres.ts";

/** Pages about people, on a real Postgres. */
const postgres = usePostgres();
const PASSWORD = "a few words together";
const OTHER_PASSWORD = "quite other words together";

async function open(options: Parameters<typeof openDashboard>[1] = {}) {
  const { database } = await postgres.migrated();
  const mailer = createOutbox();
  const { outbox } = mailer;
  if (outbox === null) throw new Error("an outbox has letters");
  const dashboard = await openDashboard(database, { mailer, ...options });
  return { ...dashboard, mailer, outbox };
}

/** A browser's cookie after an answer that set one. */
function cookieOf(answer: { headers: Record<string, unknown> }): string {
  return /session=[^;]+/.exec(String(answer.headers["set-cookie"]))?.[0] ?? "";
}

/** The last letter to an address; waits for it. */
async function letterTo(outbox: Outbox, to: string) {
  return eventually(() => {
    const found = outbox.letters.find(({ letter }) => letter.to === to)?.letter;
    if (found === undefined) throw new Error(`nothing was written to ${to}`);
    return found;
  });
}

const linkIn = (text: string): URL => new URL(/^https?:\S+$/m.exec(text)?.[0] ?? "");
const signIn = (guest: Client, email: string, password: string) => guest.post("/dashboard/sign-in", { email, password });

test("a forgotten password is reset by email, once; every session ends (S24)", async () => {
  const { guest, owner, outbox, client } = await open();
  const ann = await owner("ann@example.com");
  const known = await guest.post("/dashboard/forgot", { email: "ANN@example.com" });
  const unknown = await guest.post("/dashboard/forgot", { email: "nobody@example.com" });
  expect([known.statusCode, unknown.statusCode, known.body === unknown.body]).toEqual([200, 200, true]);

  const link = linkIn((await letterTo(outbox, "ann@example.com")).text);
  expect(outbox.letters).toHaveLength(1);
  expect((await guest.get(link.pathname + link.search)).body).toContain("Choose a new password");
  const token = link.searchParams.get("token") ?? "";
  expect((await guest.post("/dashboard/reset", { token, password: "short" })).statusCode).toBe(400);
  const reset = await guest.post("/dashboard/reset", { token, password: OTHER_PASSWORD });
  expect([reset.statusCode, reset.headers["location"]]).toEqual([303, "/dashboard"]);
  expect((await client({ cookie: cookieOf(reset) }).get("/dashboard")).statusCode).toBe(200);
  expect((await ann.get("/dashboard")).statusCode).toBe(303);
  expect((await guest.post("/dashboard/reset", { token, password: PASSWORD })).statusCode).toBe(400);
  expect((await signIn(guest, "ann@example.com", OTHER_PASSWORD)).statusCode).toBe(303);
});

test("password resets are limited per address, for whichever account", async () => {
  const { guest, owner } = await open();
  await owner("ann@example.com");
  const emails = ["ann@example.com", "nobody@example.com"];
  const ask = (email: string) => guest.post("/dashboard/forgot", { email });
  for (let count = 0; count < 20; count++) for (const email of emails) expect((await ask(email)).statusCode).toBe(200);
  const refused = await Promise.all(emails.map(ask));
  for (const page of refused) {
    expect(page.statusCode).toBe(429);
    expect(page.headers["retry-after"]).toMatch(/^\d+$/);
    expect(page.body).toContain("password resets from your network");
  }
});

test("changing the password requires the current one and signs out every other browser; every sign-in has a new session", async () => {
  const { guest, client } = await open();
  const signUp = await guest.post("/dashboard/sign-up", { name: "Ann", email: "ann@example.com", password: PASSWORD });
  const planted = cookieOf(signUp);
  const second = cookieOf(
    await client({ cookie: planted }).post("/dashboard/sign-in", { email: "ann@example.com", password: PASSWORD }),
  );
  // With a session, a form needs its token: the browser that has one is not signed in twice.
  expect(second).toBe("");
  const other = cookieOf(await signIn(guest, "ann@example.com", PASSWORD));
  expect(other).not.toBe(planted);

  const browser = client({ cookie: other });
  const page = (await browser.get("/dashboard/settings")).body;
  const csrf = /name="form_token"\s+value="([^"]+)"/.exec(page)?.[1] ?? "";
  const signedIn = client({ cookie: other }, csrf);
  expect((await signedIn.get("/dashboard/settings/sessions/end-others")).body).toMatch(
    /<form method="post" action="\/dashboard\/settings\/sessions\/end-others"[^]*1 other session ends immediately/,
  );
  const wrong = await signedIn.post("/dashboard/settings/password", { current: "not it at all", password: OTHER_PASSWORD });
  expect([wrong.statusCode, wrong.body.includes("This is not your password.")]).toEqual([400, true]);
  const changed = await signedIn.post("/dashboard/settings/password", { current: PASSWORD, password: OTHER_PASSWORD });
  expect(changed.statusCode).toBe(303);
  expect((await client({ cookie: planted }).get("/dashboard")).statusCode).toBe(303);
  expect((await signedIn.get("/dashboard")).statusCode).toBe(200);
  const alone = await signedIn.get("/dashboard/settings/sessions/end-others");
  expect([alone.statusCode, alone.headers["location"]]).toEqual([303, "/dashboard/settings"]);
});

test("an invited person joins with an existing account, or signs up through the invitation when sign-up is closed", async () => {
  const { database, owner, outbox, guest, client, signIn: sessionOf } = await open({ signUp: { isOpen: false, domains: null } });
  expect((await guest.get("/dashboard/sign-up")).statusCode).toBe(404);
  const ann = await owner("ann@example.com");
  const bob = await owner("bob@example.com");
  const inviteTo = async (email: string, role: string) => {
    expect((await ann.post("/dashboard/members/invite", { email, role })).statusCode).toBe(200);
    return linkIn((await letterTo(outbox, email)).text).searchParams.get("token") ?? "";
  };

  const forBob = await inviteTo("bob@example.com", "viewer");
  expect((await bob.get(`/dashboard/invitation?token=${forBob}`)).body).toContain("viewer");
  expect((await bob.post("/dashboard/invitation", { token: forBob })).statusCode).toBe(303);
  expect((await bob.post("/dashboard/invitation", { token: forBob })).statusCode).toBe(404);
  const accounts = await listMemberships(database, bob.personId);
  expect(accounts.map(({ role }) => role)).toEqual(["owner", "viewer"]);
  // What he has in view now is hers, and he goes back to his own.
  expect((await bob.get("/dashboard/keys/new")).statusCode).toBe(403);
  expect((await bob.post(`/dashboard/accounts/${bob.accountId}/view`)).statusCode).toBe(303);
  expect((await bob.get("/dashboard/keys/new")).statusCode).toBe(200);

  const forNew = await inviteTo("new@example.com", "member");
  expect((await guest.get(`/dashboard/sign-up?invitation=${forNew}`)).body).toContain("You are joining");
  const form = { name: "New", email: "other@example.com", password: PASSWORD, invitation: forNew };
  const joined = await guest.post("/dashboard/sign-up", form);
  expect(joined.statusCode).toBe(303);
  const person = await findPersonByEmail(database, "other@example.com");
  expect(await listMemberships(database, person?.id ?? "")).toMatchObject([{ accountId: ann.accountId, role: "member" }]);
  expect((await client({ cookie: cookieOf(joined) }).get("/dashboard/keys/new")).statusCode).toBe(200);

  const revoked = await inviteTo("late@example.com", "member");
  const id = /invitations\/([0-9a-f]{64})\/revoke/.exec((await ann.get("/dashboard/members")).body)?.[1] ?? "";
  expect((await ann.post(`/dashboard/members/invitations/${id}/revoke`)).statusCode).toBe(303);
  expect((await guest.get(`/dashboard/invitation?token=${revoked}`)).statusCode).toBe(404);

  // Removed, he is out of her account at once, and in his own again.
  const inHers = await sessionOf(bob.personId, ann.accountId);
  expect((await ann.post(`/dashboard/members/${bob.personId}/remove`)).statusCode).toBe(303);
  expect((await inHers.get("/dashboard")).statusCode).toBe(303);
  expect((await ann.post(`/dashboard/members/${ann.personId}/remove`)).body).toContain("An account needs at least one owner.");
  expect((await listMembers(database, ann.accountId)).map(({ email }) => email)).toEqual([
    "ann@example.com",
    "other@example.com",
  ]);
});

test("a member is not invited again, in whatever letters their address is typed", async () => {
  const { database, owner, outbox } = await open();
  const ann = await owner("ann@example.com");
  const bob = await owner("bob@example.com");
  await addMember(database, { accountId: ann.accountId, personId: bob.personId, role: "viewer" });
  const again = await ann.post("/dashboard/members/invite", { email: "Bob@Example.com", role: "member" });
  expect([again.statusCode, again.body.includes("is already a member with this address.")]).toEqual([400, true]);
  expect(again.body).toContain('value="Bob@Example.com"');
  expect(await listInvitations(database, ann.accountId)).toEqual([]);
  expect(outbox.letters).toEqual([]);
});

test.for([
  ["owner", "is now an owner."],
  ["viewer", "is now a viewer."],
] as const)("a member who becomes %s is named with the role's article", async ([role, words]) => {
  const { owner, inAccount } = await open();
  const ann = await owner("ann@example.com");
  const bob = await inAccount(ann.accountId, "member", "bob@example.com");
  const changed = await ann.post(`/dashboard/members/${bob.personId}/role`, { role });
  const toast = /toast=[^;]+/.exec(String(changed.headers["set-cookie"]))?.[0] ?? "";
  const next = await ann.get("/dashboard/members", { headers: { cookie: `${ann.cookie}; ${toast}` } });
  expect(next.body).toContain(words);
});

test("whoever removes an owner learns where the account's data goes by that owner's choice", async () => {
  const { owner, inAccount, program } = await open({ targetNetworks: "any" });
  const ann = await owner("ann@example.com");
  const bob = await inAccount(ann.accountId, "owner", "bob@example.com");
  const webhooks = "/dashboard/webhook-endpoints";
  await ann.post(webhooks, { url: "https://ann.example/events", events: "key.deleted" });
  await bob.post(webhooks, { url: "https://bob.example/events", events: "key.deleted" });
  const bobs = await program(ann.accountId, bob.personId, "owner");
  const destination = { kind: "otlp", name: "Bob's", url: "https://traces.bob.example/v1/traces" };
  expect((await bobs.call("POST", "/api/v1/trace-destinations", destination)).statusCode).toBe(201);

  const { body } = await ann.get(`/dashboard/members/${bob.personId}/remove`);
  expect(body).toMatch(/<a href="\/dashboard\/webhook-endpoints\/[0-9a-f-]{36}">https:\/\/bob\.example<\/a> \(webhook\)/);
  expect(body).toMatch(/<a href="\/dashboard\/trace-destinations\/[0-9a-f-]{36}">https:\/\/traces\.bob\.example<\/a>/);
  expect(body).not.toContain("ann.example");
  await ann.post(`/dashboard/members/${bob.personId}/role`, { role: "viewer" });
  expect((await ann.get(`/dashboard/members/${bob.personId}/access`)).body).toContain("https://bob.example");
  expect((await bob.get(`/dashboard/members/${bob.personId}/remove`)).body).not.toContain("https://bob.example");
});

test("someone without any account joins the one that they are invited to by signing in", async () => {
  const { database, owner, outbox, guest } = await open({ signUp: { isOpen: false, domains: null } });
  const ann = await owner("ann@example.com");
  const invitation = async () => {
    await ann.post("/dashboard/members/invite", { email: "cy@example.com", role: "member" });
    const link = linkIn((await letterTo(outbox, "cy@example.com")).text);
    return link.searchParams.get("token") ?? "";
  };
  const form = { name: "Cy", email: "cy@example.com", password: PASSWORD, invitation: await invitation() };
  expect((await guest.post("/dashboard/sign-up", form)).statusCode).toBe(303);
  const cy = await findPersonByEmail(database, "cy@example.com");
  expect((await ann.post(`/dashboard/members/${cy?.id ?? ""}/remove`)).statusCode).toBe(303);
  const out = await signIn(guest, "cy@example.com", PASSWORD);
  expect([out.statusCode, out.body.includes("You no longer belong to an account")]).toEqual([401, true]);
  const next = `/dashboard/invitation?token=${await invitation()}`;
  const back = await guest.post("/dashboard/sign-in", { email: "cy@example.com", password: PASSWORD, next });
  expect(back.statusCode).toBe(303);
  expect(await listMemberships(database, cy?.id ?? "")).toMatchObject([{ accountId: ann.accountId, role: "member" }]);
});

test("an email that the mail server rejects is reported to the sender", async () => {
  const failing = { outbox: null, send: () => Promise.reject(new Error("550")) };
  const { guest, owner, database } = await open({ mailer: failing, signUp: { isOpen: true, domains: ["example.com"] } });
  const asked = await guest.post("/dashboard/sign-up/address", { email: "typo@example.com" });
  expect([asked.statusCode, asked.body.includes("No email could be sent to this address")]).toEqual([400, true]);
  const ann = await owner("ann@example.com");
  await database.execute("UPDATE person SET email_verified_at = now()");
  const invited = await ann.post("/dashboard/members/invite", { email: "cy@example.com", role: "member" });
  expect(invited.body).toContain("The email could not be sent");
});

test("if only some domains can sign up, an emailed link proves the address (S24)", async () => {
  const { guest, database, outbox } = await open({ signUp: { isOpen: true, domains: ["example.com"] } });
  const ask = (email: string) => guest.post("/dashboard/sign-up/address", { email });
  const refused = await ask("ann@example.org");
  expect([refused.statusCode, refused.body.includes("Sign-up is limited to email addresses at example.com.")]).toEqual([
    400,
    true,
  ]);
  for (const email of ["ann@sub.example.com", "ann@example.com.evil.org"]) expect((await ask(email)).statusCode).toBe(400);
  expect(outbox.letters).toEqual([]);

  expect((await ask("ann@EXAMPLE.com")).body).toContain("We sent a link");
  const link = linkIn((await letterTo(outbox, "ann@EXAMPLE.com")).text);
  expect((await guest.get(link.pathname + link.search)).body).toContain("ann@EXAMPLE.com");
  const proof = link.searchParams.get("proof") ?? "";
  const form = { name: "Ann", email: "eve@example.com", password: PASSWORD };
  // Without the link, with a spoilt one, and with one for another address nobody becomes who they say.
  expect((await guest.post("/dashboard/sign-up", form)).statusCode).toBe(400);
  expect((await guest.post("/dashboard/sign-up", { ...form, proof: `${proof.slice(0, -1)}!` })).statusCode).toBe(404);
  expect(await findPersonByEmail(database, "eve@example.com")).toBeUndefined();
  expect((await guest.post("/dashboard/sign-up", { ...form, proof })).statusCode).toBe(303);
  expect(await findPersonByEmail(database, "eve@example.com")).toBeUndefined();
  expect(await findPersonByEmail(database, "ann@example.com")).toMatchObject({ isEmailVerified: true });
  const again = await guest.post("/dashboard/sign-up", { ...form, proof });
  expect([again.statusCode, again.body.includes("sign in instead")]).toEqual([400, true]);
});

test("requests for sign-up links cannot flood a mailbox", async () => {
  const { guest, outbox } = await open({ signUp: { isOpen: true, domains: ["example.com"] } });
  for (let index = 0; index < 12; index++) await guest.post("/dashboard/sign-up/address", { email: "ann@example.com" });
  expect(outbox.letters).toHaveLength(6);
});

test("a reset by email works while signed in, and confirms the address", async () => {
  const { owner, outbox, database } = await open();
  const ann = await owner("ann@example.com");
  expect(await findPersonByEmail(database, "ann@example.com")).toMatchObject({ isEmailVerified: false });
  expect((await ann.post("/dashboard/forgot", { email: "ann@example.com" })).statusCode).toBe(200);
  const link = linkIn((await letterTo(outbox, "ann@example.com")).text);
  const page = (await ann.get(link.pathname + link.search)).body;
  const csrf = /name="form_token"\s+value="([^"]+)"/.exec(page)?.[1] ?? "";
  const token = link.searchParams.get("token") ?? "";
  expect((await ann.post("/dashboard/reset", { form_token: csrf, token, password: OTHER_PASSWORD })).statusCode).toBe(303);
  expect(await findPersonByEmail(database, "ann@example.com")).toMatchObject({ isEmailVerified: true });
});

test("guesses at the password while signed in are counted like those at sign-in", async () => {
  const { owner } = await open();
  const ann = await owner("ann@example.com");
  const guess = () => ann.post("/dashboard/settings/password", { current: "not it at all", password: OTHER_PASSWORD });
  for (let index = 0; index < 8; index++) expect((await guess()).body).toContain("This is not your password.");
  expect((await guess()).body).toContain("Too many");
  const right = await ann.post("/dashboard/settings/password", { current: PASSWORD, password: OTHER_PASSWORD });
  expect([right.statusCode, Number(right.headers["retry-after"])]).toEqual([429, expect.closeTo(60, -1)]);
});

test("an address changes once the new one is confirmed; the old one is notified, its links and other sessions end", async () => {
  const { owner, guest, outbox, signIn: elsewhere, logged } = await open();
  const ann = await owner("ann@example.com");
  await owner("bob@example.com");
  const other = await elsewhere(ann.personId, ann.accountId);
  await guest.post("/dashboard/forgot", { email: "ann@example.com" });
  const reset = linkIn((await letterTo(outbox, "ann@example.com")).text);

  const path = "/dashboard/settings/email";
  for (const email of ["nobody", "ANN@example.com"]) expect((await ann.post(path, { email })).statusCode).toBe(400);
  const taken = await ann.post(path, { email: "bob@example.com" });
  const sent = await ann.post(path, { email: "ann@new.example" });
  const message = ({ body }: { body: string }) =>
    body.replaceAll(/value="[^"]*"/g, "").replaceAll("bob@example.com", "ann@new.example");
  expect([taken.statusCode, message(taken) === message(sent)]).toEqual([200, true]);
  expect((await letterTo(outbox, "bob@example.com")).text).not.toContain("http");
  const { pathname, search, searchParams } = linkIn((await letterTo(outbox, "ann@new.example")).text);
  const token = searchParams.get("token") ?? "";
  expect((await ann.get(pathname + search)).body).toContain("ann@new.example");
  const stranger = await owner("eve@example.com");
  expect((await stranger.post(pathname, { token })).statusCode).toBe(404);
  expect((await signIn(guest, "ann@new.example", PERSON_PASSWORD)).statusCode).toBe(401);

  expect((await ann.post(pathname, { token })).statusCode).toBe(303);
  expect((await ann.post(pathname, { token })).statusCode).toBe(404);
  expect((await ann.get("/dashboard/settings")).body).toContain("You sign in as ann@new.example");
  expect((await other.get("/dashboard/settings")).statusCode).toBe(303);
  const answer = await guest.post("/dashboard/reset", { token: reset.searchParams.get("token") ?? "", password: OTHER_PASSWORD });
  expect(answer.statusCode).not.toBe(303);
  expect((await signIn(guest, "ann@example.com", PERSON_PASSWORD)).statusCode).toBe(401);
  expect((await signIn(guest, "ann@new.example", PERSON_PASSWORD)).statusCode).toBe(303);
  const notice = await eventually(() => {
    const found = outbox.letters.find(({ letter }) => letter.to === "ann@example.com" && letter.subject.includes("changed"));
    if (found === undefined) throw new Error("the old address was not told");
    return found.letter.text;
  });
  expect(notice).toContain("ann@new.example");
  expect((await ann.get("/dashboard/settings/log")).body).toContain("Changed email address");
  expect(logged()).not.toContain(token);
});

test("an old session must prove its identity before an address changes", async () => {
  const { database, owner } = await open();
  const ann = await owner("ann@example.com");
  await database.execute("UPDATE session SET authenticated_at = now() - interval '31 minutes'");
  const answer = await ann.post("/dashboard/settings/email", { email: "ann@new.example" });
  expect(answer.headers.location).toContain("/dashboard/confirm-identity");
});

test("an owner closes the account by entering its name: keys, tokens and sessions end, owners are notified, the books stay", async () => {
  const { database, owner, inAccount, guest, outbox, program, signIn: elsewhere } = await open();
  const ann = await owner("ann@example.com");
  const { accountId, personId } = ann;
  const member = await inAccount(accountId, "member");
  const token = await program(accountId, personId, "owner");
  await postCredit(database, { accountId, kind: "grant", amountNanoUsd: 12_340_000_000n, reference: "gift" });
  const { value } = await createApiKey(database, { accountId, name: "laptop", pepper: PEPPER });
  const path = "/dashboard/settings/close";
  expect((await ann.get(path)).body).toContain("$12.34");
  expect([(await member.get(path)).statusCode, (await ann.post(path, { name: "an" })).statusCode]).toEqual([403, 400]);
  expect(await isKeyInForce(database, { value, pepper: PEPPER })).toBe(true);

  expect((await ann.post(path, { name: "ann" })).headers.location).toBe("/dashboard/sign-in");
  expect(await isKeyInForce(database, { value, pepper: PEPPER })).toBe(false);
  for (const client of [ann, member]) expect((await client.get("/dashboard/settings")).statusCode).toBe(303);
  expect((await token.get("/api/v1/account")).statusCode).toBe(401);
  expect((await letterTo(outbox, "ann@example.com")).text).toContain("12.34");
  expect((await signIn(guest, "ann@example.com", PERSON_PASSWORD)).statusCode).toBe(303);
  const again = await elsewhere(personId, accountId);
  expect((await again.get("/dashboard/credit")).body).toContain("12.34");
  expect((await again.get("/dashboard/settings")).body).toContain("account.closed");
  expect((await again.post(path, { name: "ann" })).statusCode).toBe(400);
  expect((await again.get("/dashboard/keys")).body).toContain('class="badge disabled"');
});

test("a threshold for the low-balance alert that is not an amount is rejected next to its field", async () => {
  const { owner } = await open();
  const ann = await owner("ann@example.com");
  for (const [threshold, words] of [
    ["abc", "Enter an amount in USD below 1,000,000, such as 5 or 2.50."],
    ["1000000", "Enter an amount in USD below 1,000,000, such as 5 or 2.50."],
    ["0", "Enter an amount above zero, or leave it empty."],
  ] as const) {
    const refused = await ann.post("/dashboard/credit/alert", { threshold });
    expect([threshold, refused.statusCode, refused.body.includes(words)]).toEqual([threshold, 400, true]);
  }
});
