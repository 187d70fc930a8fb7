import { readdir, readFile } from "node:fs/promises";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { postCredit } from "../../../ledger/credit/entries.ts";
import { findPersonByEmail } from "../../../ledger/people/persons.ts";
import { addMember, listMemberships } from "../../../ledger/people/members.ts";
import { createBrowser, formToken, type Browser } from "../../support/dashboard/browser.ts";
import { eventually } from "../../support/eventually.ts";
import { startTestStack, type TestStack } from "../../support/stacks/stack.ts";

/** The pages through the real Envoy, as a visitor without scripts uses them. */
let stack: TestStack;
beforeAll(async () => {
  stack = await startTestStack();
});
afterAll(() => stack.stop());

let people = 0;

async function signedUp(name = "Ada"): Promise<{ browser: Browser; accountId: string; email: string; personId: string }> {
  const browser = createBrowser(stack.baseUrl);
  const email = `person${++people}@example.com`;
  const page = await browser.post("/dashboard/sign-up", { name, email, password: "a few words together" });
  expect([page.status, page.headers["location"]]).toEqual([303, "/dashboard"]);
  const person = await findPersonByEmail(stack.database, email);
  const [membership] = await listMemberships(stack.database, person?.id ?? "");
  return { browser, email, accountId: membership?.accountId ?? "", personId: person?.id ?? "" };
}

async function makeKey(browser: Browser, form: Record<string, string> = {}): Promise<{ value: string; publicId: string }> {
  const page = await browser.submit("/dashboard/keys/new", "/dashboard/keys/new", { name: "laptop", ...form });
  const value = /sk-mg-[0-9A-Za-z]{55}/.exec(page.text)?.[0] ?? "";
  expect([page.status, value.length]).toEqual([200, 61]);
  return { value, publicId: value.slice(6, 18) };
}

async function call(key: string, path: "/v1/chat/completions" | "/v1/messages"): Promise<number> {
  const response = await fetch(stack.baseUrl + path, {
    method: "POST",
    headers: { "content-type": "application/json", "x-api-key": key },
    body: JSON.stringify({ model: "modelx-v4-pro", max_tokens: 50, messages: [{ role: "user", content: "Hello." }] }),
  });
  await response.text();
  return response.status;
}

test("from signing up to seeing what an answer cost, on both interfaces (S24, S27)", async () => {
  const { browser, accountId, email } = await signedUp();
  await postCredit(stack.database, { accountId, kind: "grant", amountNanoUsd: 1_000_000_000n, reference: email });
  const { value } = await makeKey(browser);
  await eventually(async () => expect(await call(value, "/v1/chat/completions")).toBe(200), { withinMs: 20_000 });
  expect(await call(value, "/v1/messages")).toBe(200);
  await stack.idle();

  const usage = await browser.get("/dashboard/usage");
  expect(usage.text).toContain("modelx-v4-pro");
  expect(usage.text).toContain("<svg");
  const requests = await browser.get("/dashboard/usage/requests?model=modelx-v4-pro");
  expect(requests.text.match(/>Completed<\/span/g)).toHaveLength(2);
  expect((await browser.get("/dashboard/usage/requests?model=modelx-chat")).text).toContain("No matching requests");
  expect((await browser.get("/dashboard/credit")).text).toContain("+$1.00");
});

test("headers that Envoy accepts do not make the dashboard close its connections", async () => {
  const { browser } = await signedUp();
  const cookie = [...browser.cookies].map(([name, value]) => `${name}=${value}`).join("; ");
  const page = await browser.get("/dashboard", { cookie: `${cookie}; ${"other=1; ".repeat(3_000)}last=1` });
  expect(page.status).toBe(200);
  expect(page.text).toContain("Sign out");
});

test("a deleted key is refused (S25), and its value is never shown again", async () => {
  const { browser, accountId, email } = await signedUp();
  await postCredit(stack.database, { accountId, kind: "grant", amountNanoUsd: 1_000_000_000n, reference: email });
  const { value, publicId } = await makeKey(browser);
  await eventually(async () => expect(await call(value, "/v1/messages")).toBe(200), { withinMs: 20_000 });
  const pages = await Promise.all(
    ["/dashboard", "/dashboard/keys", `/dashboard/keys/${publicId}`].map((path) => browser.get(path)),
  );
  for (const page of pages) expect([page.status, page.text.includes(value.slice(18))]).toEqual([200, false]);

  const deleted = await browser.submit(`/dashboard/keys/${publicId}/delete`, `/dashboard/keys/${publicId}/delete`);
  expect(deleted.status).toBe(303);
  await eventually(async () => expect(await call(value, "/v1/messages")).toBe(401), { withinMs: 20_000, everyMs: 20 });
  expect((await browser.get("/dashboard/keys")).text).toContain("No API keys yet");
});

test("a rotated key works with both values until the old one is cut off", async () => {
  const { browser, accountId, email } = await signedUp();
  await postCredit(stack.database, { accountId, kind: "grant", amountNanoUsd: 1_000_000_000n, reference: email });
  const { value, publicId } = await makeKey(browser);
  const path = `/dashboard/keys/${publicId}/rotate`;
  const rotate = async (overlap: string) =>
    /sk-mg-[0-9A-Za-z]{55}/.exec((await browser.submit(path, path, { overlap })).text)?.[0] ?? "";
  const second = await rotate("24");
  await eventually(async () => expect(await call(second, "/v1/messages")).toBe(200), { withinMs: 20_000 });
  expect(await call(value, "/v1/messages")).toBe(200);
  const third = await rotate("0");
  await eventually(async () => expect(await call(third, "/v1/messages")).toBe(200), { withinMs: 20_000 });
  expect([await call(value, "/v1/messages"), await call(second, "/v1/messages")]).toEqual([401, 401]);
});

test("a key's limits, models and name are changed and shown; a disabled one is refused until it is enabled", async () => {
  const { browser, accountId, email } = await signedUp();
  await postCredit(stack.database, { accountId, kind: "grant", amountNanoUsd: 1_000_000_000n, reference: email });
  const { value, publicId } = await makeKey(browser, { spendPerDayUsd: "5.00" });
  expect((await browser.get("/dashboard/keys")).text).toMatch(/of <span[^>]*>\$5\.00<\/span> today/);
  const path = `/dashboard/keys/${publicId}`;
  expect((await browser.submit(path, path, { name: "build server", models: "modelx-chat" })).status).toBe(303);
  await eventually(async () => expect(await call(value, "/v1/messages")).toBe(404), { withinMs: 20_000 });
  expect((await browser.get(path)).text).toMatch(/value="modelx-chat"\s+checked/);
  expect((await browser.submit(path, path, { name: "", spendPerDayUsd: "much" })).text).toContain(
    "Enter an amount in USD, such as 5.00.",
  );

  await browser.submit("/dashboard/keys", `${path}/disable`);
  await eventually(async () => expect(await call(value, "/v1/messages")).toBe(401), { withinMs: 20_000 });
  await browser.submit("/dashboard/keys", `${path}/enable`);
  await eventually(async () => expect(await call(value, "/v1/messages")).toBe(404), { withinMs: 20_000 });
});

describe("another account's keys", () => {
  const routes: readonly (readonly ["GET" | "POST", string])[] = [
    ["GET", ""],
    ["POST", ""],
    ["POST", "/disable"],
    ["POST", "/enable"],
    ["GET", "/rotate"],
    ["POST", "/rotate"],
    ["GET", "/delete"],
    ["POST", "/delete"],
  ];
  test.for(routes)("are not found: %s %s", async ([method, action]) => {
    const { publicId } = await makeKey((await signedUp()).browser);
    const { browser } = await signedUp("Eve");
    const path = `/dashboard/keys/${publicId}${action}`;
    const page = method === "GET" ? await browser.get(path) : await browser.submit("/dashboard/keys/new", path, { name: "mine" });
    expect(page.status).toBe(404);
  });
});

test("a viewer sees keys and changes nothing", async () => {
  const owner = await signedUp();
  const { publicId } = await makeKey(owner.browser);
  const viewer = await signedUp("Vic");
  await addMember(stack.database, { accountId: owner.accountId, personId: viewer.personId, role: "viewer" });
  await stack.database.execute("UPDATE session SET account_id = $1 WHERE person_id = $2", [owner.accountId, viewer.personId]);
  const list = await viewer.browser.get("/dashboard/keys");
  expect([list.text.includes("laptop"), list.text.includes("/rotate"), list.text.includes("/dashboard/keys/new")]).toEqual([
    true,
    false,
    false,
  ]);
  expect((await viewer.browser.get("/dashboard/keys/new")).status).toBe(403);
  expect((await viewer.browser.submit("/dashboard/keys", `/dashboard/keys/${publicId}/delete`)).status).toBe(403);
  expect((await viewer.browser.submit("/dashboard/keys", "/dashboard/credit/redeem", { code: "X" })).status).toBe(403);
});

describe("a form", () => {
  test.for([
    ["without its token", {}, {}],
    ["with another's token", { form_token: "x".repeat(43) }, {}],
  ] as const)("%s is refused", async ([, form]) => {
    const { browser } = await signedUp();
    const page = await browser.post("/dashboard/keys/new", { name: "laptop", ...form });
    expect([page.status, page.text.includes("has expired")]).toEqual([403, true]);
    expect((await browser.get("/dashboard/keys")).text).toContain("No API keys yet");
  });

  test.for([[{ origin: "https://example.com" }], [{ origin: "null" }]] as const)(
    "from another site is refused, even with its token: %j",
    async ([headers]) => {
      const { browser } = await signedUp();
      const token = formToken((await browser.get("/dashboard/keys/new")).text);
      expect((await browser.post("/dashboard/keys/new", { name: "laptop", form_token: token }, headers)).status).toBe(403);
      expect((await browser.post("/dashboard/sign-in", { email: "a@example.com", password: "x" }, headers)).status).toBe(403);
    },
  );
});

test("each sign-in gets a new session: an earlier one ends", async () => {
  const { browser, email } = await signedUp();
  const before = browser.cookies.get("session") ?? "";
  const token = formToken((await browser.get("/dashboard")).text);
  await browser.post("/dashboard/sign-in", { email, password: "a few words together", form_token: token });
  expect(browser.cookies.get("session")).not.toBe(before);
  const other = createBrowser(stack.baseUrl);
  other.cookies.set("session", before);
  expect((await other.get("/dashboard")).headers["location"]).toBe("/dashboard/sign-in?next=%2Fdashboard");
  await browser.submit("/dashboard", "/dashboard/sign-out");
  expect((await browser.get("/dashboard/keys")).headers["location"]).toBe("/dashboard/sign-in?next=%2Fdashboard%2Fkeys");
});

test("names are shown literally, whatever they contain, and never run", async () => {
  const name = `<script>alert(1)</script>"'><img src=x>`;
  const { browser } = await signedUp(name);
  await makeKey(browser, { name });
  const pages = await Promise.all(["/dashboard", "/dashboard/keys", "/dashboard/usage"].map((path) => browser.get(path)));
  for (const page of pages) {
    expect(page.status).toBe(200);
    expect(page.text).not.toMatch(/<script>|<img src=x/);
    expect(page.headers["content-security-policy"]).toContain("default-src 'none'");
  }
});

test("after eight wrong passwords the right one must wait, and the page shows how long", async () => {
  const { email } = await signedUp();
  const browser = createBrowser(stack.baseUrl);
  for (let attempt = 0; attempt < 8; attempt++) {
    const page = await browser.post("/dashboard/sign-in", { email, password: "wrong" });
    expect([page.status, page.text.includes('value="wrong"')]).toEqual([401, false]);
  }
  const page = await browser.post("/dashboard/sign-in", { email, password: "a few words together" });
  expect([page.status, page.text.includes("Try again in a minute")]).toEqual([429, true]);
});

test("a browser that opens the base URL is redirected to the dashboard; a tool gets JSON", async () => {
  const browser = createBrowser(stack.baseUrl);
  const page = await browser.get("/");
  expect([page.status, page.headers["location"]]).toEqual([302, `${stack.baseUrl}/dashboard`]);
  expect((await browser.get("/", { accept: "*/*" })).headers["content-type"]).toBe("application/json");
});

test("prices are public; a missing page has the same design", async () => {
  const browser = createBrowser(stack.baseUrl);
  expect((await browser.get("/dashboard/models")).text).toContain("modelx-reasoner");
  const missing = await browser.get("/dashboard/nowhere");
  expect([missing.status, missing.text.includes("This page does not exist")]).toEqual([404, true]);
  expect((await browser.get("/dashboardx")).headers["content-type"]).toBe("application/json");
});

test("a header that names a backend does not bypass the dashboard's route", async () => {
  const browser = createBrowser(stack.baseUrl);
  expect((await browser.get("/dashboard/models", { "x-gateway-backend": "extproc" })).status).toBe(200);
});

test("passwords, sessions and keys are in no log", async () => {
  const { browser } = await signedUp();
  const { value } = await makeKey(browser);
  const session = browser.cookies.get("session") ?? "";
  await browser.post("/dashboard/sign-in", { email: "nobody@example.com", password: "a secret of nobody's" });
  const names = await readdir(stack.directory.logs);
  const logs = await Promise.all(names.map((name) => readFile(path.join(stack.directory.logs, name), "utf8")));
  expect(names).toEqual(expect.arrayContaining(["access.log", "dashboard.log"]));
  for (const secret of [value, value.slice(18), session, "a few words together", "a secret of nobody"])
    expect(logs.some((text) => text.includes(secret))).toBe(false);
  expect(stack.complaints).toEqual([]);
});
