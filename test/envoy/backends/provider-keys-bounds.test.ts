import { readFile } from "node:fs/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import { listProviderKeys, setFallback, setProviderKey } from "../../../ledger/provider-keys/provider-keys.ts";
import { makeBackendManifests, type TestModelOfMany } from "../../support/stacks/backend-manifests.ts";
import { makeCompletion } from "../../support/servers/completions.ts";
import { eventually } from "../../support/eventually.ts";
import type { TestCustomer } from "../../support/stacks/product.ts";
import { startRecordingUpstream, type RecordingUpstream } from "../../support/servers/recording-upstream.ts";
import { startTestStack, type TestStack } from "../../support/stacks/stack.ts";

/** Provider keys when Models change, the operator ends, or there is no more room in Envoy (S59). */
const JSON_TYPE = { "content-type": "application/json" };
const MAX_CLUSTERS = 2;
const GATEWAYS = "px-gateway-Zk3v9QmT7wLr2YbN";
const pricing = { inputPerMillion: "1", outputPerMillion: "4", providerKeyFee: { percent: "10" } };

let server: RecordingUpstream;
let elsewhere: RecordingUpstream;
let manifests: Awaited<ReturnType<typeof makeBackendManifests>>;
let stack: TestStack;
let pepper: Buffer;
let ann: TestCustomer;
let bob: TestCustomer;
let eve: TestCustomer;

function models(
  port: number,
  { connect, lacksSecret = false }: { connect?: string; lacksSecret?: boolean } = {},
): TestModelOfMany[] {
  const backend = {
    name: "taking",
    protocol: "chat",
    url: `http://127.0.0.1:${port}`,
    credential: GATEWAYS,
    bringYourOwnKey: { provider: "example" },
    lacksSecret,
  } as const;
  const { bringYourOwnKey: _, ...plain } = { ...backend, name: "other", priority: 1, lacksSecret: false };
  // How it is reached is a part of a cluster.
  const second = { name: "second", pricing, backends: [backend], timeouts: { connect: connect ?? "5s" } };
  return [{ name: "first", pricing, backends: [backend, plain] }, second];
}

beforeAll(async () => {
  server = await startRecordingUpstream((_request, response) => void response.writeHead(200, JSON_TYPE).end(makeCompletion()));
  elsewhere = await startRecordingUpstream((_request, response) => void response.writeHead(200, JSON_TYPE).end(makeCompletion()));
  manifests = await makeBackendManifests(models(server.port));
  stack = await startTestStack({
    manifestsDirectory: manifests.directory,
    environment: { PROVIDER_KEYS_MAX_CLUSTERS: String(MAX_CLUSTERS) },
  });
  pepper = Buffer.from((await readFile(stack.directory.pepper, "utf8")).trim(), "base64");
  const creditNanoUsd = 1_000_000_000n;
  [ann, bob, eve] = [
    await stack.createAccount({ name: "ann", creditNanoUsd }),
    await stack.createAccount({ name: "bob", creditNanoUsd }),
    await stack.createAccount({ name: "eve", creditNanoUsd }),
  ];
});
afterAll(async () => {
  await stack?.stop();
  await server?.stop();
  await elsewhere?.stop();
  await manifests?.remove();
});

async function enter({ accountId }: TestCustomer, value: string, port = server.port): Promise<void> {
  const origin = `http://127.0.0.1:${port}`;
  const actor = { accountId, personId: null, tokenId: null };
  await setProviderKey(stack.database, actor, { provider: "example", origin, value, pepper });
}

const stateOf = async ({ accountId }: TestCustomer) => (await listProviderKeys(stack.database, accountId))[0]?.state;

async function ask(
  { apiKey }: TestCustomer,
  model = "first",
): Promise<{ status: number; text: string; key: string | undefined }> {
  const response = await fetch(`${stack.baseUrl}/v1/chat/completions`, {
    method: "POST",
    headers: { "content-type": "application/json", authorization: `Bearer ${apiKey}` },
    body: JSON.stringify({ model, max_tokens: 10, messages: [{ role: "user", content: "Hello." }] }),
  });
  const id = response.headers.get("x-request-id");
  const sent = [...server.requests, ...elsewhere.requests].find(({ headers }) => headers["x-request-id"] === id);
  return { status: response.status, text: await response.text(), key: sent?.headers.authorization?.replace("Bearer ", "") };
}

test("keys beyond the gateway's bound are refused: when they are entered, and when Models need more room (S59)", async () => {
  await enter(ann, "ann-own-key-1");
  await enter(bob, "bob-own-key-1");
  await eventually(async () => expect([await stateOf(ann), await stateOf(bob)]).toEqual(["active", "active"]));
  await expect(enter(eve, "eve-own-key-1")).rejects.toThrow("no capacity for another provider key");
  expect((await ask(eve)).key).toBe(GATEWAYS);
  await eventually(async () => expect((await ask(bob)).key).toBe("bob-own-key-1"));

  await manifests.write(models(server.port, { connect: "2s" }));
  await eventually(async () => expect([await stateOf(ann), await stateOf(bob)]).toEqual(["active", "no_room"]));
  const refused = await eventually(async () => {
    const answer = await ask(bob);
    expect(answer.status).toBe(503);
    return answer;
  });
  expect(refused.key).toBeUndefined();
  expect(refused.text).toContain("provider_key_unavailable");
  expect(refused.text).toContain("has no capacity for your account's own key");
  expect((await ask(ann)).key).toBe("ann-own-key-1");
  expect((await ask(ann, "second")).key).toBe("ann-own-key-1");

  await manifests.write(models(server.port));
  await eventually(async () => expect((await ask(bob)).key).toBe("bob-own-key-1"));
});

test("requests go on with own keys while the operator ends and starts again, and new keys follow (S59)", async () => {
  const pid = stack.pids["operator"];
  if (pid === undefined) throw new Error("the operator has no pid");
  process.kill(pid, "SIGKILL");
  for (let i = 0; i < 10; i++) expect((await ask(ann)).key).toBe("ann-own-key-1");
  await enter(ann, "ann-own-key-2");
  await eventually(
    async () => {
      const { key, status } = await ask(ann);
      expect(status).toBe(200);
      expect(key).toBe("ann-own-key-2");
    },
    { withinMs: 20_000 },
  );
});

test("a model that moves to another server gets no key that was entered for the one before (S59)", async () => {
  await manifests.write(models(elsewhere.port));
  const refused = await eventually(async () => {
    const answer = await ask(ann);
    expect(answer.status).toBe(403);
    return answer;
  });
  expect(refused.text).toContain("has moved to another server");
  expect(elsewhere.requests).toEqual([]);
  await enter(ann, "ann-own-key-3", elsewhere.port);
  await eventually(async () => expect((await ask(ann)).key).toBe("ann-own-key-3"));
});

test("while no server that takes an own key is ready, its account's requests are refused, or served at the price if it has allowed that (S59)", async () => {
  await manifests.write(models(elsewhere.port, { lacksSecret: true }));
  const refused = await eventually(async () => {
    const answer = await ask(ann);
    expect(answer.status).toBe(503);
    return answer;
  });
  expect(refused.key).toBeUndefined();
  expect(refused.text).toContain("No server of this model that accepts your account's own key for the provider example");
  expect((await ask(eve)).key).toBe(GATEWAYS);
  const actor = { accountId: ann.accountId, personId: null, tokenId: null };
  await setFallback(stack.database, actor, { provider: "example", fallsBack: true });
  await eventually(async () => expect(await ask(ann)).toMatchObject({ status: 200, key: GATEWAYS }));
  await manifests.write(models(elsewhere.port));
  await eventually(async () => expect((await ask(ann)).key).toBe("ann-own-key-3"));
});
