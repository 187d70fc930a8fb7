import { expect, test } from "vitest";
import * as z from "zod";
import { recordedPrompt, textsOf, untilRecorded } from "../../support/billing/recorded-prompt.ts";
import { useScriptedModels } from "../../support/servers/scripted-models.ts";
import { say } from "../../support/servers/worded-models.ts";

/** What a prompt log has of answers that a guardrail checks (S55, S60). */
const checkSchema = z.object({ input: z.array(z.string()) });
const WORDS = Array.from({ length: 60 }, (_, index) => `word${index} `);

const stack = useScriptedModels(
  async (request, response, body) => {
    if (request.url !== "/v1/moderations")
      return say(request, response, body, { pieces: [...WORDS, "forbidden ", ...WORDS], afterMs: 2 });
    const { input } = checkSchema.parse(JSON.parse(body));
    const results = input.map((text) => ({ flagged: text.includes("forbidden") }));
    response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify({ results }));
  },
  (url) => {
    const streamWindow = { characters: 100, time: "30s" };
    const guardrail = { url: `${url}/v1/moderations`, check: ["Answers"], streamWindow };
    return [{ name: "guarded", backends: [{ name: "only", protocol: "chat", url }], guardrail }];
  },
);

function send(stream: boolean): Promise<Response> {
  return fetch(`${stack().baseUrl}/v1/chat/completions`, {
    method: "POST",
    headers: { "content-type": "application/json", authorization: `Bearer ${stack().apiKey}` },
    body: JSON.stringify({ model: "guarded", stream, messages: [{ role: "user", content: "Hello." }] }),
  });
}

test("a record has what passed, and nothing that was withheld (S60)", async () => {
  const { database, accountId } = stack();
  await database.execute("UPDATE api_key SET prompt_log_days = 1 WHERE account_id = $1", [accountId]);
  await untilRecorded(stack(), () => send(false));
  for (const isStream of [false, true]) {
    const response = await send(isStream);
    const body = await response.text();
    const record = await recordedPrompt(stack(), response.headers.get("x-request-id"));
    expect(record).toMatchObject({ status: isStream ? 200 : 400, isWhole: true, isStream, model: "guarded" });
    expect(textsOf(record).answer).toBe(body);
    expect(body).not.toContain("forbidden ");
    expect(body.includes("word5 ")).toBe(isStream);
  }
});
