import { gzipSync } from "node:zlib";
import { expect, test } from "vitest";
import { useScriptedModels } from "../../support/servers/scripted-models.ts";

/** Answers that extproc reads for a tenth of a second each, and a customer beside them (S40, docs/decisions/0033). */
const MEBIBYTE = 1024 * 1024;
const HEAVY = gzipSync(Buffer.alloc(31 * MEBIBYTE, " "));
const HEAVY_REQUESTS = 30;
const USAGE = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 };
const CHOICES = [{ index: 0, message: { role: "assistant", content: "Hello." }, finish_reason: "stop" }];
const LIGHT = JSON.stringify({ id: "a", object: "chat.completion", created: 1, model: "m", choices: CHOICES, usage: USAGE });

const stack = useScriptedModels(
  (request, response) => {
    const isHeavy = request.url?.startsWith("/heavy") === true;
    const coding = isHeavy ? { "content-encoding": "gzip" } : {};
    response.writeHead(200, { "content-type": "application/json", ...coding }).end(isHeavy ? HEAVY : LIGHT);
  },
  (url) =>
    ["heavy", "light"].map((name) => ({ name, backends: [{ name: "only", protocol: "chat" as const, url: `${url}/${name}` }] })),
);

async function ask(apiKey: string, model: string): Promise<{ status: number; text: string }> {
  const response = await fetch(`${stack().baseUrl}/v1/chat/completions`, {
    method: "POST",
    headers: { authorization: `Bearer ${apiKey}`, "content-type": "application/json" },
    body: JSON.stringify({ model, max_tokens: 10, messages: [{ role: "user", content: "hi" }] }),
  });
  return { status: response.status, text: await response.text() };
}

test(
  "a customer's requests pass between the answers that another account's model server makes heavy",
  { timeout: 60_000 },
  async () => {
    const { apiKey: customer } = await stack().createAccount({ name: "beside-heavy-answers", creditNanoUsd: 1_000_000_000n });
    expect(await ask(customer, "light")).toMatchObject({ status: 200 });
    const over = new AbortController();
    const heavy = Promise.all(Array.from({ length: HEAVY_REQUESTS }, () => ask(stack().apiKey, "heavy"))).finally(() =>
      over.abort(),
    );
    let answered = 0;
    while (!over.signal.aborted) {
      expect(await ask(customer, "light")).toMatchObject({ status: 200 });
      answered += 1;
    }
    await heavy;
    // Behind all of 20 it was five.
    expect(answered).toBeGreaterThan(8);
  },
);
