import { expect, test } from "vitest";
import { createOutbox } from "../../../dashboard/mail/outbox.ts";
import { createPasskeys } from "../../../dashboard/passkeys/passkeys.ts";
import { relyingPartyOf } from "../../../dashboard/passkeys/relying-party.ts";
import { ACCOUNT_BOUNDS } from "../../../contract/account-bounds.ts";
import { dropExpired } from "../../../ledger/people/expired.ts";
import { listPasskeys } from "../../../ledger/sign-in/passkeys.ts";
import { createAuthenticator, type Authenticator, type Lies } from "../../support/dashboard/authenticator.ts";
import { openDashboard, type Client } from "../../support/dashboard/dashboard.ts";
import { countRows, PEPPER } from "../../support/billing/ledger.ts";
import { dataOf, fieldOf } from "../../support/dashboard/page-fields.ts";
import { PASSWORD } from "../../support/dashboard/people.ts";
import { usePostgres } from "../../support/billing/postgres.ts";

/** Passkeys against an authenticator in software, which can lie; test/browser has a browser's own. */
const postgres = usePostgres();
const ORIGIN = "https://gateway.example";
const NEW = "/dashboard/settings/passkeys/new";
const EMAIL = "ann@example.com";

async function open() {
  const { database } = await postgres.migrated();
  const mailer = createOutbox();
  const relyingParty = { id: "gateway.example", origin: ORIGIN };
  const passkeys = createPasskeys(relyingParty, { database, pepper: PEPPER });
  const dashboard = await openDashboard(database, { mailer, passkeys, publicBaseUrl: ORIGIN });
  const ann = await dashboard.owner(EMAIL);

  async function add(authenticator: Authenticator, { person = ann, name = "Laptop", lies = {} }: AddOptions = {}) {
    const page = (await person.get(NEW)).body;
    const credential = authenticator.create(dataOf(page, "options"), lies);
    return person.post(NEW, { name, challenge: fieldOf(page, "challenge"), credential });
  }

  /** As a guest who asks for any passkey. */
  async function begin() {
    const page = (await dashboard.guest.get("/dashboard/sign-in")).body;
    return { options: dataOf(page, "options"), challenge: fieldOf(page, "challenge") };
  }

  const send = (challenge: string, credential: string, client: Client = dashboard.guest) =>
    client.post("/dashboard/sign-in/passkey", { challenge, credential, next: "/dashboard/keys" });

  async function signIn(authenticator: Authenticator, lies: Lies = {}) {
    const { options, challenge } = await begin();
    return send(challenge, authenticator.get(options, lies));
  }

  /** Ann from another browser, without a second factor. */
  const again = () => dashboard.signIn(ann.personId, ann.accountId);
  return { ...dashboard, database, mailer, ann, add, begin, send, signIn, again };
}

interface AddOptions {
  person?: Client;
  name?: string;
  lies?: Lies;
}

const hasSession = ({ cookies }: { cookies: { name: string }[] }) => cookies.some(({ name }) => name.endsWith("session"));

test("a passkey is added with recovery codes, reported by email, signs in alone, and is listed and removed (S48)", async () => {
  const { ann, add, signIn, mailer, database } = await open();
  const authenticator = createAuthenticator(ORIGIN);
  const added = await add(authenticator);
  expect([added.statusCode, added.body.includes("Your recovery codes")]).toEqual([200, true]);
  expect((await add(createAuthenticator(ORIGIN), { name: "Key ring" })).headers["location"]).toBe("/dashboard/settings");

  const signedIn = await signIn(authenticator);
  expect([signedIn.statusCode, signedIn.headers["location"], hasSession(signedIn)]).toEqual([303, "/dashboard/keys", true]);
  const settings = await ann.get("/dashboard/settings");
  for (const text of ["Laptop", "Key ring", "10 of 10 recovery codes left"]) expect(settings.body).toContain(text);
  for (const { id } of await listPasskeys(database, ann.personId))
    expect((await ann.post(`/dashboard/settings/passkeys/${id}/remove`)).statusCode).toBe(303);
  expect(await countRows(database, "recovery_code")).toBe(0n);
  const gone = await signIn(authenticator);
  expect([gone.statusCode, hasSession(gone), gone.body.includes("This passkey is not registered here")]).toEqual([
    401,
    false,
    true,
  ]);

  await expect
    .poll(() => mailer.outbox?.letters.map(({ letter }) => letter.subject).toSorted())
    .toEqual([
      "A passkey was added to your Model Gateway account",
      "A passkey was added to your Model Gateway account",
      "A passkey was removed from your Model Gateway account",
      "A passkey was removed from your Model Gateway account",
      "New sign-in to Model Gateway",
    ]);
  const log = (await ann.get("/dashboard/settings/log")).body;
  for (const action of ["person.passkey_added", "person.passkey_removed"]) expect(log).toContain(action);
});

test.for<[string, Lies]>([
  ["made for another site", { origin: "https://gateway.example.evil" }],
  ["made for another domain", { rpId: "evil.example" }],
  ["of a person whom the device did not verify", { isUserVerified: false }],
  ["that answers another challenge", { challenge: "AAAA" }],
  ["of a registration", { type: "webauthn.create" }],
  ["that says it is somebody else's", { userHandle: Buffer.alloc(16).toString("base64url") }],
  ["that does not say whose it is", { userHandle: null }],
  ["whose count went back", { signCount: 1 }],
])("a passkey's answer %s signs nobody in", async ([, lies]) => {
  const { add, signIn } = await open();
  const authenticator = createAuthenticator(ORIGIN);
  await add(authenticator);
  expect(hasSession(await signIn(authenticator))).toBe(true);
  const answer = await signIn(authenticator, lies);
  expect([answer.statusCode, hasSession(answer)]).toEqual([401, false]);
});

test.for<[string, Lies]>([
  ["made for another site", { origin: "https://evil.example" }],
  ["of a person whom the device did not verify", { isUserVerified: false }],
  ["that answers another challenge", { challenge: "AAAA" }],
  ["of a sign-in", { type: "webauthn.get" }],
  ["with an attestation that nobody asked for", { certificates: [Uint8Array.of(1)] }],
])("a passkey %s is not added", async ([, lies]) => {
  const { add, database } = await open();
  const answer = await add(createAuthenticator(ORIGIN), { lies });
  expect([answer.statusCode, answer.body.includes("This passkey was not accepted")]).toEqual([400, true]);
  expect(await countRows(database, "passkey")).toBe(0n);
  expect(await countRows(database, "recovery_code")).toBe(0n);
});

test("an answer counts once, even from an authenticator without a counter, and even if sent twice concurrently", async () => {
  const { add, begin, send, database } = await open();
  const authenticator = createAuthenticator(ORIGIN);
  await add(authenticator, { lies: { signCount: 0 } });
  const { options, challenge } = await begin();
  const credential = authenticator.get(options, { signCount: 0 });
  const answers = await Promise.all(Array.from({ length: 5 }, () => send(challenge, credential)));
  expect(answers.filter(hasSession)).toHaveLength(1);
  expect((await send(challenge, credential)).statusCode).toBe(401);
  const next = await begin();
  expect((await send(next.challenge, credential)).statusCode).toBe(401);
  expect(hasSession(await send(next.challenge, authenticator.get(next.options, { signCount: 0 })))).toBe(true);
  await database.execute("UPDATE answered_challenge SET expires_at = now() - interval '1 second'");
  await dropExpired(database);
  expect(await countRows(database, "answered_challenge")).toBe(0n);
});

test("guests who request a challenge leave no trace, and do not learn who has passkeys", async () => {
  const { add, begin, database } = await open();
  await add(createAuthenticator(ORIGIN));
  const { options } = await begin();
  expect(JSON.parse(options)).toMatchObject({ rpId: "gateway.example", allowCredentials: [], userVerification: "required" });
  expect(await countRows(database, "answered_challenge")).toBe(0n);
});

test("with a passkey the password alone opens nothing: the passkey, or a recovery code, is the second step", async () => {
  const { add, guest, send, owner } = await open();
  const authenticator = createAuthenticator(ORIGIN);
  const codes = (await add(authenticator)).body;
  const [recovery = ""] = /(?:[0-9a-f]{4}-){3}[0-9a-f]{4}/.exec(codes) ?? [];
  const step = await guest.post("/dashboard/sign-in", { email: EMAIL, password: PASSWORD });
  expect([step.statusCode, hasSession(step)]).toEqual([200, false]);
  const [options, challenge] = [dataOf(step.body, "options"), fieldOf(step.body, "challenge")];
  expect(options).toContain(authenticator.credentialId);

  // Another person's passkey is not accepted for this step.
  const eve = await owner("eve@example.com");
  const hers = createAuthenticator(ORIGIN);
  const page = (await eve.get(NEW)).body;
  await eve.post(NEW, { name: "Eve", challenge: fieldOf(page, "challenge"), credential: hers.create(dataOf(page, "options")) });
  expect(hasSession(await send(challenge, hers.get(options)))).toBe(false);
  expect(hasSession(await send(challenge, authenticator.get(options)))).toBe(true);

  const note = fieldOf(step.body, "note");
  expect(hasSession(await guest.post("/dashboard/sign-in/code", { note, code: "000000" }))).toBe(false);
  expect(hasSession(await guest.post("/dashboard/sign-in/code", { note, code: recovery }))).toBe(true);
});

test("adding a passkey requires a recent sign-in, and counts as one", async () => {
  const { ann, add, database } = await open();
  const authenticator = createAuthenticator(ORIGIN);
  await add(authenticator);
  await database.execute("UPDATE session SET authenticated_at = now() - interval '1 hour'");
  expect((await ann.get(NEW)).headers["location"]).toContain("/dashboard/confirm-identity");
  // The password alone is not enough for a person with a second factor.
  const confirm = "/dashboard/confirm-identity";
  expect((await ann.post(confirm, { current: PASSWORD, next: NEW })).statusCode).toBe(400);
  const page = (await ann.get(`${confirm}?next=${NEW}`)).body;
  const [options, challenge] = [dataOf(page, "options"), fieldOf(page, "challenge")];
  const stranger = createAuthenticator(ORIGIN);
  expect((await ann.post(`${confirm}/passkey`, { challenge, credential: stranger.get(options), next: NEW })).statusCode).toBe(
    400,
  );
  const answer = await ann.post(`${confirm}/passkey`, { challenge, credential: authenticator.get(options), next: NEW });
  expect([answer.statusCode, answer.headers["location"]]).toEqual([303, NEW]);
  expect((await ann.get(NEW)).statusCode).toBe(200);
});

test("a challenge to register belongs to one person, and a session without the second factor can neither add nor remove", async () => {
  const { ann, add, owner, again, database } = await open();
  const eve = await owner("eve@example.com");
  const page = (await eve.get(NEW)).body;
  const credential = createAuthenticator(ORIGIN).create(dataOf(page, "options"));
  const crossed = await ann.post(NEW, { name: "x", challenge: fieldOf(page, "challenge"), credential });
  expect(crossed.statusCode).toBe(400);
  await add(createAuthenticator(ORIGIN));
  const [passkey] = await listPasskeys(database, ann.personId);
  // A browser that signed in by the password before the passkey was there.
  const other = await again();
  for (const path of [NEW, `/dashboard/settings/passkeys/${passkey?.id}/remove`])
    expect((await other.post(path, { name: "x" })).headers["location"]).toContain("/dashboard/confirm-identity");
  expect((await (await owner("bob@example.com")).post(`/dashboard/settings/passkeys/${passkey?.id}/remove`)).statusCode).toBe(
    404,
  );
  expect(await listPasskeys(database, ann.personId)).toHaveLength(1);
});

test("a person has a bounded number of passkeys, and a credential belongs to one person", async () => {
  const { ann, add, owner, database } = await open();
  const authenticator = createAuthenticator(ORIGIN);
  for (let made = 0; made < ACCOUNT_BOUNDS.passkeysOfPerson - 1; made++) await add(createAuthenticator(ORIGIN));
  await add(authenticator);
  const tooMany = await add(createAuthenticator(ORIGIN));
  expect([tooMany.statusCode, tooMany.body.includes("at most 20 passkeys")]).toEqual([400, true]);
  const eve = await owner("eve@example.com");
  const again = await add(authenticator, { person: eve });
  expect([again.statusCode, again.body.includes("was already added")]).toEqual([400, true]);
  expect(await listPasskeys(database, ann.personId)).toHaveLength(ACCOUNT_BOUNDS.passkeysOfPerson);
});

test("anything but a browser's answer is rejected with the remedy", async () => {
  const { begin, send, ann } = await open();
  const { challenge } = await begin();
  for (const credential of ["", "{}", "nonsense", "[1]", '{"id":"*"}']) {
    const answer = await send(challenge, credential);
    expect([answer.statusCode, answer.body.includes("Your browser sent no passkey")], credential).toEqual([401, true]);
  }
  expect((await send("forged", "{}")).body).toContain("This page has expired");
  expect((await ann.post(NEW, { name: "x", challenge: "", credential: "" })).statusCode).toBe(400);
});

test.for([
  ["https://gateway.example", "gateway.example"],
  ["https://gateway.example:8443", "gateway.example"],
  ["http://localhost:8080", "localhost"],
  ["http://127.0.0.1:8080", undefined],
  ["https://[2001:db8::1]", undefined],
  ["http://gateway.example", undefined],
] as const)("at %s passkeys are of %s", ([publicBaseUrl, id]) => {
  expect(relyingPartyOf(publicBaseUrl)?.id).toBe(id);
});
