import process from "node:process";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { parseApiKey } from "../../../ledger/keys/keys.ts";
import { eventually } from "../../support/eventually.ts";
import type { TestCustomer } from "../../support/stacks/product.ts";
import { startTestStack, type TestStack } from "../../support/stacks/stack.ts";

/** During an upgrade, or after one was taken back, the database has rows of a newer version. */
let stack: TestStack;
let customer: TestCustomer;
let neighbour: TestCustomer;
beforeAll(async () => {
  stack = await startTestStack();
  customer = await stack.createAccount({ name: "customer", creditNanoUsd: 1_000_000_000n });
  neighbour = await stack.createAccount({ name: "neighbour", creditNanoUsd: 1_000_000_000n });
});
afterAll(() => stack.stop());

const FUTURE = `'{"imagesPerMinute": 5}'`;
const KINDS = [
  {
    kind: "key",
    write: () => stack.database.execute(`UPDATE api_key SET limits = ${FUTURE} WHERE public_id = $1`, [idOf(customer.apiKey)]),
    takeBack: () => stack.database.execute("UPDATE api_key SET limits = '{}'"),
  },
  {
    kind: "account",
    write: () => stack.database.execute(`UPDATE account SET limits = ${FUTURE} WHERE id = 'customer'`),
    takeBack: () => stack.database.execute("UPDATE account SET limits = '{}'"),
  },
] as const;

beforeEach(async () => {
  for (const { takeBack } of KINDS) await takeBack();
  await eventually(async () => expect((await ask(customer.apiKey)).status).toBe(200));
});

function idOf(apiKey: string): string {
  const parsed = parseApiKey(apiKey);
  if (parsed.kind !== "key") throw new Error("the key that the test made does not have a key's form");
  return parsed.publicId;
}

async function ask(
  apiKey: string,
  model = "modelx-v4-pro",
): Promise<{ status: number; retryAfter: string | null; text: string }> {
  const response = await fetch(`${stack.baseUrl}/v1/chat/completions`, {
    method: "POST",
    headers: { authorization: `Bearer ${apiKey}` },
    body: JSON.stringify({ model, max_tokens: 20, messages: [{ role: "user", content: "Hello." }] }),
  });
  return { status: response.status, retryAfter: response.headers.get("retry-after"), text: await response.text() };
}

const metrics = async () => (await fetch(`${stack.extprocAdminUrl}/metrics`)).text();

async function restartExtproc(): Promise<void> {
  const before = stack.pids["extproc"] ?? 0;
  process.kill(before, "SIGTERM");
  await eventually(() => expect(stack.pids["extproc"]).not.toBe(before), { withinMs: 30_000 });
}

test.for(KINDS)(
  "a limit that this version does not know makes only its $kind refused, even after a restart",
  { timeout: 120_000 },
  async ({ kind, write, takeBack }) => {
    await write();
    await eventually(async () => expect((await ask(customer.apiKey)).status).toBe(503));
    const refused = await ask(customer.apiKey);
    // Not for good: the version that wrote it serves it, and SDKs come again.
    expect(refused).toMatchObject({ status: 503, retryAfter: "5" });
    expect(JSON.parse(refused.text)).toMatchObject({ error: { code: "billing_unavailable" } });
    expect(await metrics()).toContain(`gateway_unreadable_rows{kind="${kind}"} 1`);

    // The feed continues.
    expect((await ask(neighbour.apiKey)).status).toBe(200);
    const later = await stack.createAccount({ name: `later-than-${kind}`, creditNanoUsd: 1_000_000_000n });
    expect((await ask(later.apiKey)).status).toBe(200);

    await restartExtproc();
    await eventually(async () => expect((await ask(later.apiKey)).status).toBe(200), { withinMs: 60_000 });
    expect((await ask(customer.apiKey)).status).toBe(503);

    await takeBack();
    await eventually(async () => expect((await ask(customer.apiKey)).status).toBe(200));
    expect(await metrics()).toContain(`gateway_unreadable_rows{kind="${kind}"} 0`);
  },
);

test(
  "a model published by a newer version is served as before, and after a restart refused only temporarily",
  { timeout: 120_000 },
  async () => {
    const { database } = stack;
    await database.execute(`UPDATE model SET spec = spec || '{"aliases": ["flash"]}' WHERE name = 'modelx-v4-flash'`);
    const publish = (spec: string) => database.execute(`UPDATE model SET spec = ${spec} WHERE name = 'modelx-v4-flash'`);
    await publish(`spec || '{"ofTheFuture": 1}'`);
    await eventually(async () => expect(await metrics()).toContain('gateway_unreadable_rows{kind="model"} 1'));
    expect((await ask(neighbour.apiKey, "modelx-v4-flash")).status).toBe(200);
    expect((await ask(neighbour.apiKey)).status).toBe(200);

    await restartExtproc();
    await eventually(async () => expect((await ask(neighbour.apiKey)).status).toBe(200), { withinMs: 60_000 });
    for (const name of ["modelx-v4-flash", "flash"])
      expect(await ask(neighbour.apiKey, name)).toMatchObject({ status: 503, retryAfter: "5" });

    await publish("spec - 'ofTheFuture'");
    await eventually(async () => expect((await ask(neighbour.apiKey, "modelx-v4-flash")).status).toBe(200));
  },
);
