import { expect, test } from "vitest";
import * as z from "zod";
import { formatNanoUsd } from "../../../ledger/money.ts";
import { onlyRow } from "../../support/billing/settlement.ts";
import { useScriptedModels } from "../../support/servers/scripted-models.ts";

/** Complete answers of servers that report no usage: clients get what the gateway counts, and by which it charges (S28, S45). */

const ANSWERS = {
  chat: { choices: [{ index: 0, message: { role: "assistant", content: "Good day." }, finish_reason: "stop" }] },
  messages: { content: [{ type: "text", text: "Good day." }], stop_reason: "end_turn", stop_sequence: null },
  responses: {
    status: "completed",
    output: [
      {
        type: "message",
        id: "msg_1",
        role: "assistant",
        status: "completed",
        content: [{ type: "output_text", text: "Good day.", annotations: [] }],
      },
    ],
  },
} as const;
const PATHS = { chat: "/v1/chat/completions", messages: "/v1/messages", responses: "/v1/responses" } as const;
const HELLO = [{ role: "user", content: "Say hello." }];
const REQUESTS = {
  chat: { messages: HELLO },
  messages: { messages: HELLO, max_tokens: 100 },
  responses: { input: "Say hello." },
} as const;
const PROTOCOLS = ["chat", "messages", "responses"] as const;

const stack = useScriptedModels(({ url = "" }, response) => {
  const protocol = PROTOCOLS.find((name) => url.endsWith(PATHS[name])) ?? "chat";
  response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(ANSWERS[protocol]));
});

const answerSchema = z.object({
  usage: z
    .object({
      cost: z.number(),
      prompt_tokens: z.int(),
      input_tokens: z.int(),
      completion_tokens: z.int(),
      output_tokens: z.int(),
    })
    .partial()
    .required({ cost: true }),
});

test.for(PROTOCOLS.flatMap((client) => PROTOCOLS.map((server) => [server, client] as const)))(
  "a %s server, a %s client",
  async ([server, client]) => {
    const response = await fetch(stack().baseUrl + PATHS[client], {
      method: "POST",
      headers: { "content-type": "application/json", authorization: `Bearer ${stack().apiKey}` },
      body: JSON.stringify({ model: `as-${server}`, ...REQUESTS[client], usage: { include: true } }),
    });
    expect(response.status).toBe(200);
    const { usage } = answerSchema.parse(await response.json());
    const { chargeNanoUsd, isEstimated, usage: charged } = await onlyRow(stack(), response.headers.get("x-request-id") ?? "");
    expect(isEstimated).toBe(true);
    expect(usage.cost).toBe(Number(formatNanoUsd(chargeNanoUsd)));
    expect(usage.prompt_tokens ?? usage.input_tokens).toBe(charged.inputTokens);
    expect(usage.completion_tokens ?? usage.output_tokens).toBe(charged.outputTokens);
  },
);
