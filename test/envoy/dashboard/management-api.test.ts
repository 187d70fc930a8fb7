import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import path from "node:path";
import process from "node:process";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import * as z from "zod";
import { createBrowser, type Browser } from "../../support/dashboard/browser.ts";
import { eventually } from "../../support/eventually.ts";
import { startTestStack, type TestStack } from "../../support/stacks/stack.ts";

/** The management API and the admin pages through the real Envoy, as `npm start` runs them. */
const GUIDE = path.join(import.meta.dirname, "../../../docs/management-api.md");
const run = promisify(execFile);
let stack: TestStack;
beforeAll(async () => {
  stack = await startTestStack({ restartsParts: false });
});
afterAll(() => stack.stop());

/** The demo account's owner, with the password that `npm start` writes into its settings. */
async function demoOwner(): Promise<Browser> {
  const settings = await readFile(stack.directory.settings, "utf8");
  const setting = (name: string) => new RegExp(`^${name}=(\\S+)$`, "m").exec(settings)?.[1] ?? "";
  const browser = createBrowser(stack.baseUrl);
  const form = { email: setting("DASHBOARD_EMAIL"), password: setting("DASHBOARD_PASSWORD") };
  expect((await browser.post("/dashboard/sign-in", form)).status).toBe(303);
  return browser;
}

async function makeToken(browser: Browser, role = "member", more: Record<string, string> = {}): Promise<string> {
  const page = await browser.submit("/dashboard/tokens", "/dashboard/tokens", { name: "program", role, ...more });
  return /mgmt_[\w-]{43}/.exec(page.text)?.[0] ?? "";
}

async function call(url: string, headers: Record<string, string>, body?: object) {
  const response = await fetch(stack.baseUrl + url, {
    headers: { "content-type": "application/json", ...headers },
    ...(body === undefined ? {} : { method: "POST", body: JSON.stringify(body) }),
  });
  return { status: response.status, headers: response.headers, text: await response.text() };
}

test("every command of the guide works verbatim", async () => {
  const token = await makeToken(await demoOwner(), "owner", { service: "yes" });
  expect(token).toHaveLength(48);
  const guide = await readFile(GUIDE, "utf8");
  const commands = [...guide.matchAll(/^```sh\n([^]*?)^```$/gm)].flatMap(([, block = ""]) => block.split(/\n(?=curl)/));
  expect(commands).toHaveLength(35);
  const environment: Record<string, string> = { TOKEN: token, GATEWAY_BASE_URL: stack.baseUrl, PATH: process.env["PATH"] ?? "" };
  const answers: string[] = [];
  for (const command of commands) {
    const { stdout } = await run("sh", ["-c", command], { env: environment });
    answers.push(stdout);
    const [, id] = /"id":"([\w-]+)"/.exec(stdout) ?? [];
    if (id !== undefined && command.includes('POST "$GATEWAY_BASE_URL/api/v1/keys"')) environment["KEY_ID"] = id;
    if (id !== undefined && command.includes('POST "$GATEWAY_BASE_URL/api/v1/projects"')) environment["PROJECT_ID"] = id;
  }
  expect(answers[0]).toMatch(/^\{"currency":"USD","balance":"5\.000000000"/);
  expect(answers[1]).toContain('"value":"sk-mg-');
  expect(answers[2]).toMatch(/"name":"build server 2".*"status":"disabled"/);
  expect(answers[3]).toContain('"allowed_addresses":["203.0.113.7","2001:db8::/32"]');
  expect(answers[4]).toContain('"allowed_origins":["https://app.example.com","http://localhost:5173"]');
  expect(answers[5]).toContain('"value":"sk-mg-');
  expect(answers.find((answer) => answer.includes('"name":"search"'))).toContain(`"id":"${environment["PROJECT_ID"]}"`);
  expect(answers.at(-1)).toBe("");
});

test("a key created by the API works on the model interfaces, and stops once it is deleted there (S25)", async () => {
  const authorization = `Bearer ${await makeToken(await demoOwner())}`;
  const made = await call("/api/v1/keys", { authorization }, { name: "made by a program" });
  const { id, value } = z.object({ id: z.string(), value: z.string() }).parse(JSON.parse(made.text));
  const ask = async () =>
    (
      await call(
        "/v1/messages",
        { "x-api-key": value },
        { model: "modelx-v4-pro", max_tokens: 20, messages: [{ role: "user", content: "Hello." }] },
      )
    ).status;
  await eventually(async () => expect(await ask()).toBe(200), { withinMs: 20_000 });
  await stack.idle();
  const usage = await call(`/api/v1/usage/requests?key=${id}`, { authorization });
  expect(usage.text).toMatch(/"model":"modelx-v4-pro","interface":"messages"/);
  const deleted = await fetch(`${stack.baseUrl}/api/v1/keys/${id}`, { method: "DELETE", headers: { authorization } });
  expect(deleted.status).toBe(204);
  await eventually(async () => expect(await ask()).toBe(401), { withinMs: 20_000 });
});

test("a management token calls no model, and an API key manages nothing; each error says which one to use", async () => {
  const token = await makeToken(await demoOwner());
  for (const headers of inBothHeaders(token)) {
    const refused = await call("/v1/models", headers);
    expect(refused.status).toBe(401);
    expect(refused.text).toContain("This is a management token: it works only with the API under /api/v1. Use an API key");
  }
  for (const headers of inBothHeaders(stack.apiKey)) {
    const refused = await call("/api/v1/keys", headers);
    expect([refused.status, refused.headers.get("content-type")]).toEqual([401, "application/json; charset=utf-8"]);
    expect(refused.text).toContain("This is an API key, which can only call models. Create a management token");
  }
});

function inBothHeaders(credential: string): Record<string, string>[] {
  return [{ authorization: `Bearer ${credential}` }, { "x-api-key": credential }];
}

test("on one machine the demo person is an administrator; people who sign up are not", async () => {
  const demo = await demoOwner();
  expect((await demo.get("/dashboard/admin")).text).toContain('href="/dashboard/admin/accounts/demo"');
  const browser = createBrowser(stack.baseUrl);
  await browser.post("/dashboard/sign-up", { name: "Eve", email: "eve@example.com", password: "a few words together" });
  expect((await browser.get("/dashboard/admin")).status).toBe(404);
});

test("a suspended account's key is refused until the account is reactivated", async () => {
  const demo = await demoOwner();
  const customer = await stack.createAccount({ name: "acme", creditNanoUsd: 1_000_000_000n });
  const status = async () => (await call("/v1/balance", { "x-api-key": customer.apiKey })).status;
  expect(await status()).toBe(200);
  const page = "/dashboard/admin/accounts/acme";
  await demo.submit(page, `${page}/suspend`);
  await eventually(async () => expect(await status()).toBe(403), { withinMs: 20_000 });
  await demo.submit(page, `${page}/resume`);
  await eventually(async () => expect(await status()).toBe(200), { withinMs: 20_000 });
});

test("similar paths are not part of the API", async () => {
  for (const path of ["/api", "/api/v10/keys", "/api/v1keys"]) expect((await call(path, {})).status).not.toBe(200);
  expect((await call("/api/v10/keys", { "x-api-key": stack.apiKey })).status).toBe(404);
});

// The last one: the process does not come back here.
test("a body that is too large gets its 413, although much of it is still to come", async () => {
  const token = await makeToken(await demoOwner());
  const body = { name: "n".repeat(4 * 1024 * 1024) };
  const send = () => call("/api/v1/keys", { authorization: `Bearer ${token}` }, body);
  const answers = await Promise.all(Array.from({ length: 20 }, send));
  for (const { status, text } of answers)
    expect([status, JSON.parse(text)]).toMatchObject([413, { error: { message: "The body is too large." } }]);
});

test("while the dashboard's process is down the API's error has its own format, and models answer (S17)", async () => {
  const pid = stack.pids["dashboard"];
  // 0 would be this process's own group.
  if (pid === undefined) throw new Error("The stack has no dashboard.");
  process.kill(pid, "SIGKILL");
  await eventually(async () => {
    const away = await call("/api/v1/keys?limit=1", {});
    expect([away.status, away.headers.get("content-type"), away.headers.get("retry-after")]).toEqual([
      503,
      "application/json",
      "5",
    ]);
    expect(JSON.parse(away.text)).toEqual({
      error: {
        type: "overloaded",
        message: "The management API is temporarily unavailable. Try again in a few seconds.",
        field: null,
      },
    });
  });
  expect((await call("/v1/balance", { "x-api-key": stack.apiKey })).status).toBe(200);
});
