import { once } from "node:events";
import { request, type IncomingMessage } from "node:http";
import { json } from "node:stream/consumers";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import * as z from "zod";
import { UNBOUND } from "../../../contract/key-access.ts";
import { changeKey } from "../../../ledger/keys/key-settings.ts";
import { createApiKey } from "../../../ledger/keys/keys.ts";
import { readPepper } from "../../../local/demo.ts";
import { startDataPlane, type DataPlane } from "../../support/stacks/data-plane.ts";
import { eventually } from "../../support/eventually.ts";
import type { TestCustomer, TestProduct } from "../../support/stacks/product.ts";
import { borrowStack } from "../../support/shared-stacks/borrow.ts";

/** Keys that are bound to addresses (S50). Every address of 127.0.0.0/8 is this machine's, so that a test can come from many. */
let stack: TestProduct;
let customer: TestCustomer;
let bound: { publicId: string; value: string };
let pepper: Buffer;
beforeAll(async () => {
  stack = await borrowStack();
  pepper = await readPepper(stack.directory.pepper);
  customer = await stack.createAccount({ name: "customer", creditNanoUsd: 1_000_000_000n });
  bound = await makeKey(["127.0.0.2", "127.0.8.0/24", "2001:db8::/32"]);
});
afterAll(() => stack.stop());

const makeKey = (allowedAddresses: string[]) =>
  createApiKey(stack.database, {
    accountId: customer.accountId,
    name: "bound",
    pepper,
    access: { ...UNBOUND, allowedAddresses },
  });

const setAddresses = (allowedAddresses: string[] | null) =>
  changeKey(stack.database, { accountId: customer.accountId, publicId: bound.publicId }, { allowedAddresses });

interface Call {
  path?: string;
  method?: "GET" | "POST";
  /** The client's own address. */
  from?: string;
  key?: string;
  headers?: Readonly<Record<string, string>>;
  baseUrl?: string;
}

const errorSchema = z.looseObject({ error: z.looseObject({ message: z.string() }).optional(), type: z.string().optional() });

async function call({ path = "/v1/models", method = "GET", from = "127.0.0.1", key = bound.value, headers, baseUrl }: Call) {
  const sent = request(`${baseUrl ?? stack.baseUrl}${path}`, {
    method,
    localAddress: from,
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json", ...headers },
  });
  sent.end(method === "GET" ? undefined : JSON.stringify(QUESTION));
  const [answer]: [IncomingMessage] = z.tuple([z.custom<IncomingMessage>()]).parse(await once(sent, "response"));
  return { status: answer.statusCode, headers: answer.headers, json: errorSchema.parse(await json(answer)) };
}

const QUESTION = { model: "modelx-v4-pro", max_tokens: 20, messages: [{ role: "user", content: "Hello." }] };
const statusFrom = async (from: string, more: Call = {}) => (await call({ from, ...more })).status;

test("a key that is bound to addresses is served from these and their ranges alone (S50)", async () => {
  expect(await statusFrom("127.0.0.2")).toBe(200);
  expect(await statusFrom("127.0.8.200", { path: "/v1/chat/completions", method: "POST" })).toBe(200);
  expect(await statusFrom("127.0.0.3")).toBe(403);
  expect(await statusFrom("127.0.9.1", { path: "/v1/chat/completions", method: "POST" })).toBe(403);
});

test.for(["/v1/models", "/v1/balance", "/v1/usage", "/v1/chat/completions", "/v1/messages", "/v1/messages/count_tokens"])(
  "from elsewhere, %s gets a 403 in its protocol that says what to do, and neither the list nor the address (S17, S50)",
  async (path) => {
    const { status, headers, json: body } = await call({ path, method: /chat|messages/.test(path) ? "POST" : "GET" });
    expect(status).toBe(403);
    expect(headers["x-should-retry"]).toBe("false");
    expect(body.error).toMatchObject({ type: "permission_error" });
    expect(body.type).toBe(path.includes("messages") ? "error" : undefined);
    expect(body.error?.message).toContain("certain IP addresses");
    expect(body.error?.message).toContain("/dashboard/keys");
    // The link to the keys has the stack's own address.
    const text = JSON.stringify(body).replaceAll(stack.baseUrl, "");
    expect(text).not.toMatch(/127\.0\.|2001:db8/);
  },
);

test("a key can be bound to the loopback address, by which programs on the same machine come (S50)", async () => {
  const key = await makeKey(["127.0.0.1"]);
  expect(await statusFrom("127.0.0.1", { key: key.value })).toBe(200);
  expect(await statusFrom("127.0.0.2", { key: key.value })).toBe(403);
});

test("no header of the client's names its address", async () => {
  const claims = { "x-forwarded-for": "127.0.0.2", "x-real-ip": "127.0.0.2", forwarded: "for=127.0.0.2" };
  const further = { "x-envoy-external-address": "127.0.0.2", "x-client-ip": "127.0.0.2", "true-client-ip": "127.0.0.2" };
  expect(await statusFrom("127.0.0.1", { headers: { ...claims, ...further } })).toBe(403);
  expect(await statusFrom("127.0.0.2", { headers: { "x-forwarded-for": "203.0.113.9, 203.0.113.10" } })).toBe(200);
});

test("a wrong secret gets the same 401 from everywhere, so that an id alone is not confirmed (S18)", async () => {
  const guessed = bound.value.slice(0, -1) + (bound.value.endsWith("0") ? "1" : "0");
  const unknown = `${bound.value.slice(0, 6)}${"0".repeat(12)}${bound.value.slice(18)}`;
  const [inside, outside, other] = await Promise.all([
    call({ key: guessed, from: "127.0.0.2" }),
    call({ key: guessed }),
    call({ key: unknown }),
  ]);
  expect([inside.status, outside.status, other.status]).toEqual([401, 401, 401]);
  expect(outside.json).toEqual(inside.json);
  expect(other.json).toEqual(inside.json);
});

test("from elsewhere, nothing shows whether the key is disabled", async () => {
  const key = await makeKey(["127.0.0.2"]);
  const before = await call({ key: key.value });
  await changeKey(stack.database, { accountId: customer.accountId, publicId: key.publicId }, { isDisabled: true });
  await eventually(async () => expect(await statusFrom("127.0.0.2", { key: key.value })).toBe(401));
  const after = await call({ key: key.value });
  expect([before.status, after.status]).toEqual([403, 403]);
  expect(after.json).toEqual(before.json);
});

test("an address that is allowed is served at once, and one that is not any more is refused soon", async () => {
  await setAddresses(["127.0.0.4"]);
  expect(await statusFrom("127.0.0.4")).toBe(200);
  await eventually(async () => expect(await statusFrom("127.0.0.2")).toBe(403));
  await setAddresses(null);
  expect(await statusFrom("127.0.0.77")).toBe(200);
});

test("other settings leave the addresses as they are", async () => {
  await setAddresses(["127.0.0.2"]);
  const key = { accountId: customer.accountId, publicId: bound.publicId };
  await changeKey(stack.database, key, { limits: { requestsPerMinute: 1_000 } });
  await changeKey(stack.database, key, { name: "renamed" });
  await eventually(async () => expect(await statusFrom("127.0.0.1")).toBe(403));
  expect(await statusFrom("127.0.0.2")).toBe(200);
});

describe("behind a trusted proxy", () => {
  let plane: DataPlane;
  beforeAll(async () => {
    plane = await startDataPlane(stack, { TRUSTED_PROXY_NETWORKS: "127.0.0.9/32,127.0.16.0/24" });
    await plane.startExtproc();
    await setAddresses(["203.0.113.0/24", "2001:db8::/32"]);
    await eventually(async () => expect(await statusFrom("127.0.0.1", { baseUrl: plane.baseUrl })).toBe(403));
  });
  afterAll(() => plane.stop());

  test.for([
    ["127.0.0.9", "203.0.113.7", 200],
    ["127.0.0.9", "2001:db8::7", 200],
    ["127.0.0.9", "198.51.100.7, 203.0.113.7", 200],
    ["127.0.0.9", "203.0.113.7, 127.0.16.200", 200],
    ["127.0.0.9", "[2001:db8::7]:51234, 127.0.16.200:443", 200],
    ["127.0.0.9", "203.0.113.7, 198.51.100.7", 403],
    ["127.0.0.9", "203.0.113.7, nonsense", 403],
    ["127.0.0.9", "", 403],
    // It only claims to be a proxy.
    ["127.0.0.10", "203.0.113.7", 403],
  ] as const)("a request through %s for %s gets %i", async ([from, forwarded, status]) => {
    const headers: Record<string, string> = forwarded === "" ? {} : { "x-forwarded-for": forwarded };
    expect(await statusFrom(from, { headers, baseUrl: plane.baseUrl })).toBe(status);
  });
});
