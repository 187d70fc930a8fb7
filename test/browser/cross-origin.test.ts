import { once } from "node:events";
import { createServer, type Server } from "node:http";
import { fileURLToPath } from "node:url";
import type { Page } from "playwright-core";
import { rolldown } from "rolldown";
import { afterAll, beforeAll, expect, test } from "vitest";
import * as z from "zod";
import { UNBOUND } from "../../contract/key-access.ts";
import { createApiKey } from "../../ledger/keys/keys.ts";
import { readPepper } from "../../local/demo.ts";
import type { Asked } from "./cross-origin-page.ts";
import { useStage } from "./harness-stage.ts";

/** A program in a web page of another origin, with the official SDKs (S53). */
const { stack, visit } = useStage();

/** What the page shows when it is done: an SDK's answer, or the error as the SDK reports it. */
const outcomeSchema = z.strictObject({
  text: z.string(),
  status: z.number().nullable(),
  requestId: z.string().nullable(),
  message: z.string(),
});

let server: Server;
let origin: string;
beforeAll(async () => {
  const script = await bundle();
  server = createServer(({ url }, response) => {
    if (url === "/page.js") response.writeHead(200, { "content-type": "text/javascript; charset=utf-8" }).end(script);
    else response.writeHead(200, { "content-type": "text/html" }).end('<!doctype html><script src="/page.js"></script>');
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = z.object({ port: z.number() }).parse(server.address());
  origin = `http://localhost:${port}`;
});
afterAll(() => {
  server.close();
  server.closeAllConnections();
});

/** The page's program and both SDKs, as a customer's build makes them. */
async function bundle(): Promise<string> {
  const input = fileURLToPath(new URL("cross-origin-page.ts", import.meta.url));
  await using build = await rolldown({ input, platform: "browser", logLevel: "silent" });
  const { output } = await build.generate({ format: "iife" });
  return output[0].code;
}

async function open(allowedOrigins: string[] | null): Promise<{ page: Page; apiKey: string }> {
  const pepper = await readPepper(stack().directory.pepper);
  const { accountId, database } = stack();
  const access = { ...UNBOUND, allowedOrigins };
  const { value: apiKey } = await createApiKey(database, { accountId, name: "page", pepper, access });
  // A preflight of an origin that has just been named is answered once extproc knows it.
  await expect.poll(() => isKnown(apiKey, allowedOrigins?.[0])).toBe(true);
  const { page } = await visit();
  await page.goto(origin);
  return { page, apiKey };
}

async function isKnown(apiKey: string, from: string | undefined): Promise<boolean> {
  const headers = { "x-api-key": apiKey, ...(from === undefined ? {} : { origin: from }) };
  return (await fetch(`${stack().baseUrl}/v1/models`, { headers })).ok;
}

async function ask(page: Page, asked: Pick<Asked, "sdk" | "apiKey"> & Partial<Asked>) {
  const settings = { baseUrl: stack().baseUrl, model: "modelx-v4-pro", stream: true, ...asked };
  return outcomeSchema.parse(await page.evaluate(`ask(${JSON.stringify(settings)})`));
}

test.for([
  ["openai", true],
  ["openai", false],
  ["anthropic", true],
  ["anthropic", false],
] as const)("the %s SDK in a page of the key's origin gets its answer and the id (stream: %s) (S53)", async ([sdk, stream]) => {
  const { page, apiKey } = await open([origin]);
  const outcome = await ask(page, { sdk, apiKey, stream });
  expect(outcome).toMatchObject({ text: expect.stringContaining("Hello, page."), message: "" });
  expect(outcome.requestId).toMatch(/^[0-9a-f-]{36}$/);
});

test.for(["openai", "anthropic"] as const)("the %s SDK in a page reads the gateway's errors", async (sdk) => {
  const { page, apiKey } = await open([origin]);
  const unknown = await ask(page, { sdk, apiKey, model: "none" });
  expect([unknown.status, unknown.message]).toEqual([404, expect.stringContaining("modelx-v4-pro")]);
  const wrong = await ask(page, { sdk, apiKey: `${apiKey.slice(0, -1)}${apiKey.endsWith("0") ? "1" : "0"}` });
  expect([wrong.status, wrong.message]).toEqual([401, expect.stringContaining("Incorrect API key provided")]);
});

test.for([["https://elsewhere.example"], null])("a page gets nothing with a key for %j", async (allowedOrigins) => {
  const { page, apiKey } = await open(allowedOrigins);
  const other = await page.context().newPage();
  // Another host of this machine, which no key names.
  await other.goto(origin.replace("localhost", "127.0.0.1"));
  const outcome = await ask(other, { sdk: "openai", apiKey });
  expect(outcome).toMatchObject({ text: "", status: null, message: "Connection error." });
});
