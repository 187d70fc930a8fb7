import { cp, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { eventually } from "../../support/eventually.ts";
import { startTestStack, type TestStack } from "../../support/stacks/stack.ts";

/** Models are edited while the gateway runs. */
let stack: TestStack;
let folder = "";
beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), "model-gateway-manifests-"));
  await cp(path.join(import.meta.dirname, "../../../local/manifests"), folder, { recursive: true });
  stack = await startTestStack({ manifestsDirectory: folder });
});
afterAll(async () => {
  await stack.stop();
  await rm(folder, { recursive: true, force: true });
});

async function edit(change: (text: string) => string): Promise<void> {
  const file = path.join(folder, "models.yaml");
  const before = await readFile(file, "utf8");
  const after = change(before);
  expect(after).not.toBe(before);
  await writeFile(file, after);
}

async function ask(model: string): Promise<{ status: number; requestId: string }> {
  const response = await fetch(`${stack.baseUrl}/v1/chat/completions`, {
    method: "POST",
    headers: { "content-type": "application/json", authorization: `Bearer ${stack.apiKey}` },
    body: JSON.stringify({ model, messages: [{ role: "user", content: "Hello." }] }),
  });
  await response.text();
  return { status: response.status, requestId: response.headers.get("x-request-id") ?? "" };
}

async function outputPriceOf(model: string): Promise<bigint | undefined> {
  const { requestId } = await ask(model);
  return (await stack.usageOf(requestId)).at(0)?.price.outputPicoUsd;
}

const NEW_MODEL = `apiVersion: modelgateway.dev/v1alpha1
kind: Model
metadata:
  name: acme-small
spec:
  modelName: acme-small
  aliases: [gpt-4o-mini]
  pricing:
    inputPerMillion: "0.10"
    outputPerMillion: "0.20"
  backends:
    - name: primary
      protocol: ChatCompletions
      url: http://chat.simulator.localhost/v1
`;

test("an edited price applies from then on, without a restart (S28)", async () => {
  const before = await outputPriceOf("modelx-v4-flash");
  await edit((text) => text.replaceAll(/outputPerMillion: .*/g, 'outputPerMillion: "77.50"'));
  await eventually(async () => expect(await outputPriceOf("modelx-v4-flash")).toBe(77_500_000n));
  expect(before).not.toBe(77_500_000n);
});

test("an added Model answers, under its alias too, and a removed one is not found (S9)", async () => {
  expect((await ask("acme-small")).status).toBe(404);
  const file = path.join(folder, "acme.yaml");
  await writeFile(file, NEW_MODEL);
  await eventually(async () => expect((await ask("acme-small")).status).toBe(200));
  expect((await ask("gpt-4o-mini")).status).toBe(200);
  await rm(file);
  await eventually(async () => expect((await ask("acme-small")).status).toBe(404));
});

test("an invalid edit is rejected with file, field and reason, and the last valid state stays active", async () => {
  await edit((text) => text.replace(/inputPerMillion: .*/, "inputPerMillion: 3 dollars"));
  await eventually(() =>
    expect(stack.complaints.join("\n")).toMatch(
      /models\.yaml.*spec\.pricing\.inputPerMillion.*the last valid version stays in force/,
    ),
  );
  expect((await ask("modelx-v4-pro")).status).toBe(200);
  expect((await ask("modelx-v4-flash")).status).toBe(200);
});
