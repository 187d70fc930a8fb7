import { onTestFinished, expect, test } from "vitest";
import { createApp } from "../../../dashboard/app.ts";
import { CSRF_FIELD, csrfToken } from "../../../dashboard/session/csrf.ts";
import { publishModels } from "../../../ledger/models/catalogue.ts";
import type { Database } from "../../../ledger/postgres/database.ts";
import { HOUR_MS } from "../../../contract/days.ts";
import { createApiKey, isKeyInForce } from "../../../ledger/keys/keys.ts";
import { settle } from "../../../ledger/settlement/settle.ts";
import { listActions } from "../../../ledger/people/audit.ts";
import { startSession } from "../../../ledger/sign-in/sessions.ts";
import { createLog } from "../../../runtime/log.ts";
import { catalogueModel, PEPPER, PRICE, settlementOf } from "../../support/billing/ledger.ts";
import { listAllKeys } from "../../support/dashboard/listed-keys.ts";
import { createMember, createPerson } from "../../support/dashboard/people.ts";
import { usePostgres } from "../../support/billing/postgres.ts";

const postgres = usePostgres();
const BASE_URL = "http://gateway.example";
const GETS = ["", "/disable", "/rotate", "/delete"];
const POSTS = ["", "/disable", "/enable", "/rotate", "/delete"];

test("a key goes through its whole life on the pages, and each step is logged (S24)", async () => {
  const { database } = await postgres.migrated();
  await publishModels(database, [{ model: catalogueModel("modelx-chat"), price: PRICE }]);
  const { accountId, personId } = await ownerOf(database, "ann@example.com");
  const ann = await browse(database, { personId, accountId });
  const made = await ann.send("/dashboard/keys/new", { name: "ci", spendPerDayUsd: "2.50", models: "modelx-chat" });
  expect(made.statusCode).toBe(200);
  const [value = ""] = /sk-mg-[0-9A-Za-z]{55}/.exec(made.body) ?? [];
  const publicId = value.slice(6, 18);
  const page = `/dashboard/keys/${publicId}`;
  const shown = async () => (await listAllKeys(database, { accountId, publicId }))[0];
  expect(await shown()).toMatchObject({ name: "ci", allowedModels: ["modelx-chat"], limits: { spendPerDayUsd: "2.50" } });

  await ann.send(`${page}/disable`, {});
  await ann.send(page, { name: "renamed" });
  expect(await shown()).toMatchObject({ name: "renamed", allowedModels: null, limits: {}, status: "disabled" });
  await ann.send(`${page}/enable`, {});
  expect(await shown()).toMatchObject({ status: "active" });
  const rotated = await ann.send(`${page}/rotate`, {});
  expect(rotated.body).toMatch(new RegExp(`sk-mg-${publicId}[0-9A-Za-z]{43}`));
  expect(rotated.body).not.toContain(value);
  expect((await shown())?.previousUntil).toBeInstanceOf(Date);

  for (const path of ["/dashboard/keys", page]) {
    const { body } = await ann.open(path);
    expect(body).toContain("renamed");
    expect(body).not.toContain(value.slice(0, 18 + 4));
  }
  await ann.send(`${page}/delete`, {});
  expect(await shown()).toBeUndefined();
  expect((await ann.open(page)).statusCode).toBe(404);
  const actions = await listActions(database, { accountId, limit: 20 });
  expect(actions.map(({ by, action, subject }) => [by, action, subject])).toEqual(
    ["deleted", "rotated", "enabled", "changed", "disabled", "created"].map((done) => [
      "ann@example.com",
      `key.${done}`,
      publicId,
    ]),
  );
});

test("a key is bound to addresses on its page, which shows the visitor's own; the account's log has it (S50)", async () => {
  const { database } = await postgres.migrated();
  const { accountId, personId } = await ownerOf(database, "ann@example.com");
  const ann = await browse(database, { personId, accountId });
  const addresses = "203.0.113.7/32, 203.0.113.7\r\n2001:DB8:0::/32";
  await ann.send("/dashboard/keys/new", { name: "server", addresses, requestsPerMinute: "60" });
  const shown = async () => (await listAllKeys(database, { accountId }))[0];
  const allowedAddresses = ["203.0.113.7", "2001:db8::/32"];
  expect(await shown()).toMatchObject({ allowedAddresses, limits: { requestsPerMinute: 60 }, unknownLimits: [] });
  const page = `/dashboard/keys/${(await shown())?.publicId}`;
  const { body } = await ann.open(page);
  expect(body).toContain(">203.0.113.7\n2001:db8::/32</textarea>");
  expect(body).toContain("Your current address is 127.0.0.1.");

  await ann.send(page, { name: "renamed", addresses });
  expect(await shown()).toMatchObject({ name: "renamed", allowedAddresses, limits: {} });
  await ann.send(page, { name: "renamed" });
  expect(await shown()).toMatchObject({ allowedAddresses: null, allowedOrigins: null });
  const actions = await listActions(database, { accountId, limit: 20 });
  const names = ["key.access_changed", "key.changed", "key.changed", "key.created"];
  expect(actions.map(({ action }) => action)).toEqual(names);
});

test("a key is bound to origins on its page, beside its addresses; the account's log has it (S53)", async () => {
  const { database } = await postgres.migrated();
  const { accountId, personId } = await ownerOf(database, "ann@example.com");
  const ann = await browse(database, { personId, accountId });
  const form = { name: "page", addresses: "203.0.113.7", origins: "https://APP.example.com/\r\nhttps://app.example.com:443" };
  await ann.send("/dashboard/keys/new", form);
  const shown = async () => (await listAllKeys(database, { accountId }))[0];
  const bound = { allowedAddresses: ["203.0.113.7"], allowedOrigins: ["https://app.example.com"], unknownLimits: [] };
  expect(await shown()).toMatchObject(bound);
  const page = `/dashboard/keys/${(await shown())?.publicId}`;
  expect((await ann.open(page)).body).toContain(">https://app.example.com</textarea>");

  await ann.send(page, { ...form, name: "renamed" });
  expect(await shown()).toMatchObject({ name: "renamed", ...bound });
  await ann.send(page, { name: "renamed", addresses: form.addresses });
  expect(await shown()).toMatchObject({ ...bound, allowedOrigins: null });
  const actions = await listActions(database, { accountId, limit: 20 });
  const names = ["key.access_changed", "key.changed", "key.changed", "key.created"];
  expect(actions.map(({ action }) => action)).toEqual(names);
});

test("a limit set by a newer version is shown by name, and only the key's limits cannot be changed", async () => {
  const { database } = await postgres.migrated();
  const { accountId, personId } = await ownerOf(database, "ann@example.com");
  const ann = await browse(database, { personId, accountId });
  const { publicId } = await createApiKey(database, { accountId, name: "newer", pepper: PEPPER });
  await createApiKey(database, { accountId, name: "other", pepper: PEPPER });
  await database.execute(
    `UPDATE api_key SET limits = '{"requestsPerMinute": 7, "imagesPerMinute": 5, "spendPerDayUsd": {"of": "the future"}}' WHERE public_id = $1`,
    [publicId],
  );
  const page = `/dashboard/keys/${publicId}`;
  const shown = async () => (await listAllKeys(database, { accountId, publicId }))[0];
  expect((await ann.open("/dashboard/keys")).body).toContain("imagesPerMinute");
  expect((await ann.open("/dashboard")).statusCode).toBe(200);
  const refused = await ann.send(page, { name: "renamed", requestsPerMinute: "100" });
  expect(refused.statusCode).toBe(400);
  expect(refused.body).toContain("imagesPerMinute");
  expect(await shown()).toMatchObject({
    name: "newer",
    limits: { requestsPerMinute: 7 },
    // As jsonb orders them.
    unknownLimits: ["spendPerDayUsd", "imagesPerMinute"],
  });
  await ann.send(`${page}/disable`, {});
  expect(await shown()).toMatchObject({ status: "disabled", unknownLimits: ["spendPerDayUsd", "imagesPerMinute"] });
  await ann.send(`${page}/delete`, {});
  expect(await shown()).toBeUndefined();
});

test("keys are found by name and by their masked form, sorted, shown with their creator, and disabled together", async () => {
  const { database } = await postgres.migrated();
  const { accountId, personId } = await ownerOf(database, "ann@example.com");
  const ann = await browse(database, { personId, accountId });
  const ids: string[] = [];
  for (const name of ["Zebra", "50%_off", "apple"]) {
    const { body } = await ann.send("/dashboard/keys/new", { name });
    ids.push(/sk-mg-([0-9A-Za-z]{12})/.exec(body)?.[1] ?? "");
  }
  const [zebra = "", percent = "", apple = ""] = ids;
  const foreign = await createApiKey(database, {
    accountId: (await ownerOf(database, "eve@example.com")).accountId,
    name: "eve's",
    pepper: PEPPER,
  });
  await settle(database, [settlementOf({ accountId, keyId: percent })]);
  const open = async (query: string) => (await ann.open(`/dashboard/keys?${query}`)).body;
  const listed = async (query: string) => [...(await open(query)).matchAll(/name="keys" value="(\w{12})"/g)].map(([, id]) => id);
  expect(await listed("")).toEqual([apple, percent, zebra]);
  expect(await listed("sort=name")).toEqual([percent, apple, zebra]);
  expect((await listed("sort=spend"))[0]).toBe(percent);
  expect(await listed("search=ZEB")).toEqual([zebra]);
  expect(await listed("search=%25_")).toEqual([percent]);
  expect(await listed(`search=sk-mg-${zebra.slice(0, 4)}****${zebra.slice(-4)}`)).toEqual([zebra]);
  expect(await open("search=eve")).toContain("No matching keys");
  expect((await open("")).match(/ann@example\.com/g)?.length).toBeGreaterThanOrEqual(3);

  const question = (await ann.open(`/dashboard/keys/disable?keys=${zebra}&keys=${apple}&keys=nonsense`)).body;
  expect(question).toContain("Disable 2 keys?");
  expect([...question.matchAll(/name="keys" value="(\w{12})"/g)].map(([, id]) => id)).toEqual([zebra, apple]);
  expect((await ann.open(`/dashboard/keys/disable?keys=${foreign.publicId}`)).statusCode).toBe(404);
  const stop = await ann.send("/dashboard/keys/disable", { keys: `${zebra},${apple},${foreign.publicId},nonsense` });
  expect(stop.statusCode).toBe(303);
  const status = async (each: string) => (await listAllKeys(database, { accountId, publicId: each }))[0]?.status;
  expect([await status(zebra), await status(apple), await status(percent)]).toEqual(["disabled", "disabled", "active"]);
  expect(await isKeyInForce(database, { value: foreign.value, pepper: PEPPER })).toBe(true);
  const actions = await listActions(database, { accountId, limit: 2 });
  expect(actions.map(({ action }) => action)).toEqual(["key.disabled", "key.disabled"]);

  const again = await ann.send("/dashboard/keys/disable", { keys: `${zebra},${apple}` });
  const [toast = ""] = /toast=[^;]+/.exec(String(again.headers["set-cookie"])) ?? [];
  expect((await ann.open("/dashboard/keys", toast)).body).toMatch(/class="toast unchanged"[^]*already disabled or deleted\./);

  for (const [overlap, hours] of [
    ["1", 1],
    ["168", 168],
    ["0", null],
  ] as const) {
    await ann.send(`/dashboard/keys/${percent}/rotate`, { overlap });
    const until = (await listAllKeys(database, { accountId, publicId: percent }))[0]?.previousUntil ?? null;
    expect(until === null ? null : Math.round((until.getTime() - Date.now()) / HOUR_MS)).toBe(hours);
  }
});

test("each page of another account's key answers as if it did not exist, and changes nothing", async () => {
  const { database } = await postgres.migrated();
  const ann = await ownerOf(database, "ann@example.com");
  const { publicId } = await createApiKey(database, { accountId: ann.accountId, name: "ann's", pepper: PEPPER });
  const before = await listAllKeys(database, { accountId: ann.accountId });
  const bob = await browse(database, await ownerOf(database, "bob@example.com"));
  for (const id of [publicId, "0".repeat(12), "%00", "a'b"]) {
    for (const path of GETS) expect((await bob.open(`/dashboard/keys/${id}${path}`)).statusCode).toBe(404);
    for (const path of POSTS) expect((await bob.send(`/dashboard/keys/${id}${path}`, { name: "taken" })).statusCode).toBe(404);
  }
  expect(await listAllKeys(database, { accountId: ann.accountId })).toEqual(before);
  expect(await listActions(database, { accountId: ann.accountId, limit: 1 })).toEqual([]);
});

test("a viewer sees the keys and cannot change them", async () => {
  const { database } = await postgres.migrated();
  const { accountId } = await ownerOf(database, "ann@example.com");
  const { publicId } = await createApiKey(database, { accountId, name: "ann's", pepper: PEPPER });
  const person = await createMember(database, { accountId, email: "vic@example.com", role: "viewer" });
  const before = await listAllKeys(database, { accountId });
  const viewer = await browse(database, { personId: person.id, accountId });
  expect((await viewer.open("/dashboard/keys")).body).toContain("ann&#39;s");
  for (const path of ["new", ...POSTS.map((end) => `${publicId}${end}`)])
    expect((await viewer.send(`/dashboard/keys/${path}`, { name: "changed" })).statusCode).toBe(403);
  expect(await listAllKeys(database, { accountId })).toEqual(before);
});

test("a form from another site, or without its page's token, changes nothing; without a session it redirects to sign-in", async () => {
  const { database } = await postgres.migrated();
  const owner = await ownerOf(database, "ann@example.com");
  const ann = await browse(database, owner);
  const form = { name: "forged" };
  expect((await ann.send("/dashboard/keys/new", { ...form, [CSRF_FIELD]: "" })).statusCode).toBe(403);
  expect((await ann.send("/dashboard/keys/new", form, { origin: "https://evil.example" })).statusCode).toBe(403);
  const guest = await ann.send("/dashboard/keys/new", form, { cookie: "" });
  expect(guest.headers.location).toMatch(/^\/dashboard\/sign-in/);
  expect(await listAllKeys(database, owner)).toEqual([]);
});

test.for([
  [{ name: "" }, "Give the key a name."],
  [{ name: "\u200b\u3164" }, "Give the key a name."],
  [{ name: "shop \u202etxt.exe" }, "Use one line without control characters."],
  [{ name: "x", spendPerDayUsd: "-1" }, "Enter an amount in USD"],
  [{ name: "x", requestsPerMinute: "0" }, "Enter a whole number from 1 to 1,000,000,000."],
  [{ name: "x", expires: "tomorrow" }, "Choose a day."],
  [{ name: "x", expires: "2020-01-01" }, "Choose today or a later day."],
  [{ name: "x", addresses: "10.1.2.3/8" }, "Use 10.0.0.0/8 for the range, or 10.1.2.3 for the single address."],
  [{ name: "x", addresses: "203.0.113.7\nlaptop" }, "laptop&#34; is not an IP address"],
  [{ name: "x", origins: "https://app.example.com/chat" }, "Use https://app.example.com, which covers all of its pages."],
  [{ name: "x", origins: "https://app.example.com *" }, "is not an origin such as https://app.example.com"],
  [
    { name: "x", origins: Array.from({ length: 51 }, (_, port) => `http://localhost:${5_000 + port}`).join(" ") },
    "At most 50 origins.",
  ],
  [
    { name: "x", addresses: Array.from({ length: 51 }, (_, host) => `10.0.0.${host}`).join(" ") },
    "At most 50 addresses and ranges.",
  ],
  [{ name: "a\0b" }, "This form could not be read."],
] as const)("a key form with %j shows the error next to the field and creates no key", async ([form, problem]) => {
  const { database } = await postgres.migrated();
  const owner = await ownerOf(database, "ann@example.com");
  const ann = await browse(database, owner);
  const answer = await ann.send("/dashboard/keys/new", form);
  expect(answer.statusCode).toBe(400);
  expect(answer.body).toContain(problem);
  expect(await listAllKeys(database, owner)).toEqual([]);
});

test("a key cannot be moved to a day that is over, and saving one that has expired leaves its time as it was", async () => {
  const { database } = await postgres.migrated();
  const owner = await ownerOf(database, "ann@example.com");
  const ann = await browse(database, owner);
  const expiresAt = new Date(Date.now() - 1_000);
  const { publicId } = await createApiKey(database, { ...owner, name: "old", pepper: PEPPER, expiresAt });
  const page = `/dashboard/keys/${publicId}`;
  const shown = async () => (await listAllKeys(database, { ...owner, publicId }))[0];
  const day = /name="expires" value="([^"]+)"/.exec((await ann.open(page)).body)?.[1] ?? "";

  expect((await ann.send(page, { name: "renamed", expires: day })).statusCode).toBe(303);
  expect(await shown()).toMatchObject({ name: "renamed", expiresAt, status: "expired" });
  const moved = await ann.send(page, { name: "again", expires: "2020-01-01" });
  expect([moved.statusCode, moved.body.includes("Choose today or a later day.")]).toEqual([400, true]);
  expect(await shown()).toMatchObject({ name: "renamed" });
});

async function ownerOf(database: Database, email: string): Promise<{ personId: string; accountId: string }> {
  const { person, accountId } = await createPerson(database, email);
  return { personId: person.id, accountId };
}

/** A browser that this person has signed in with. */
async function browse(database: Database, owner: { personId: string; accountId: string }) {
  const log = createLog({ process: "dashboard", level: "silent" });
  const app = await createApp({
    database,
    log,
    pepper: PEPPER,
    publicBaseUrl: BASE_URL,
    signUp: { isOpen: true, domains: null },
  });
  onTestFinished(() => app.close());
  const token = await startSession(database, { ...owner, userAgent: "browser" });
  const headers = { cookie: `session=${token}`, origin: BASE_URL };
  return {
    open: (url: string, toast = "") =>
      app.inject({ method: "GET", url, headers: { ...headers, cookie: `${headers.cookie}; ${toast}` } }),
    send: (url: string, form: Record<string, string>, changed: Record<string, string> = {}) =>
      app.inject({
        method: "POST",
        url,
        headers: { ...headers, "content-type": "application/x-www-form-urlencoded", ...changed },
        payload: new URLSearchParams({ [CSRF_FIELD]: csrfToken(token, owner.accountId), ...form }).toString(),
      }),
  };
}
