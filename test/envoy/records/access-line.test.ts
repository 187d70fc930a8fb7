import { readFile } from "node:fs/promises";
import path from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { eventually } from "../../support/eventually.ts";
import { onlyRow } from "../../support/billing/settlement.ts";
import type { TestProduct } from "../../support/stacks/product.ts";
import { borrowStack } from "../../support/shared-stacks/borrow.ts";

/** The line that extproc writes about a finished request, on the whole product. */
let stack: TestProduct;
beforeAll(async () => {
  stack = await borrowStack();
});
afterAll(() => stack?.stop());

const PROMPT = "Nobody may read this sentence in a log.";
const PREFIX = "sk-mg-";
const PUBLIC_ID_CHARACTERS = 12;

async function ask(model: string, stream: boolean): Promise<string> {
  const response = await fetch(`${stack.baseUrl}/v1/chat/completions`, {
    method: "POST",
    headers: { "content-type": "application/json", authorization: `Bearer ${stack.apiKey}` },
    body: JSON.stringify({ model, stream, max_tokens: 64, messages: [{ role: "user", content: PROMPT }] }),
  });
  await response.text();
  return response.headers.get("x-request-id") ?? "";
}

const readLog = () => readFile(path.join(stack.directory.logs, "extproc.log"), "utf8");

async function linesOf(requestId: string): Promise<unknown[]> {
  const lines = (await readLog()).split("\n").filter((line) => line.includes(requestId));
  return lines.map((line): unknown => JSON.parse(line));
}

test.for([{ stream: true }, { stream: false }])(
  "one log line describes a request and its cost (stream: $stream)",
  async ({ stream }) => {
    const [model = ""] = stack.served.chat;
    const requestId = await ask(model, stream);
    const row = await onlyRow(stack, requestId);
    const { inputTokens: input, cachedInputTokens: cachedInput, cacheWriteTokens: cacheWrite, outputTokens: output } = row.usage;
    await eventually(async () =>
      expect(await linesOf(requestId)).toMatchObject([
        {
          level: "info",
          account: stack.accountId,
          key: stack.apiKey.slice(PREFIX.length, PREFIX.length + PUBLIC_ID_CHARACTERS),
          model,
          backend: row.backend,
          interface: "chat",
          stream,
          status: 200,
          outcome: "complete",
          tokens: { input, cachedInput, cacheWrite, output },
        },
      ]),
    );
  },
);

test("a refused request has one log line, which names its account and key", async () => {
  const requestId = await ask("no-such-model", false);
  await eventually(async () =>
    expect(await linesOf(requestId)).toMatchObject([
      { account: stack.accountId, key: expect.any(String), status: 404, outcome: "refused", code: "model_not_found" },
    ]),
  );
});

test("no log line contains a body or a key's secret", async () => {
  const text = await readLog();
  expect(text).toContain("request settled");
  for (const secret of [PROMPT, stack.apiKey, stack.apiKey.slice(PREFIX.length + PUBLIC_ID_CHARACTERS)])
    expect(text).not.toContain(secret);
});
