import { randomUUID } from "node:crypto";
import * as z from "zod";
import { createPromptCache } from "../../../local/simulator/prompt-cache.ts";
import { startSimulator } from "../../../local/simulator/simulator.ts";
import { makeBackendManifests } from "../../support/stacks/backend-manifests.ts";
import { startTestStack } from "../../support/stacks/stack.ts";

/**
 * `npm run bench:affinity`: conversations over a Model of four equal servers, each with a prompt cache of its own. How much
 * of the prompts is read from a cache when a conversation keeps its server, and how much when each turn takes any?
 */
const SERVERS = 4;
const CONVERSATIONS = 60;
const TURNS = 8;
const AT_ONCE = 12;

const usageSchema = z.looseObject({
  usage: z.looseObject({ prompt_tokens: z.number(), prompt_tokens_details: z.looseObject({ cached_tokens: z.number() }) }),
});

interface Tokens {
  prompt: number;
  cached: number;
}

/** One round with servers that know nothing yet. */
async function measure(headersOf: () => Record<string, string>): Promise<Tokens> {
  const servers = await Promise.all(Array.from({ length: SERVERS }, () => startSimulator({ promptCache: createPromptCache() })));
  const backends = servers.map(({ url }, index) => ({ name: `server-${index}`, protocol: "chat", url }) as const);
  const { directory, remove } = await makeBackendManifests([{ name: "modelx", backends }]);
  const stack = await startTestStack({ isMeasured: true, creditNanoUsd: 1_000_000_000_000n, manifestsDirectory: directory });
  const total: Tokens = { prompt: 0, cached: 0 };

  async function converse(conversation: number): Promise<void> {
    const messages = [{ role: "system", content: "You are an agent that writes code. ".repeat(120) }];
    for (let turn = 0; turn < TURNS; turn++) {
      messages.push({ role: "user", content: `Conversation ${conversation}, turn ${turn}: ${"go on ".repeat(100)}` });
      const response = await fetch(`${stack.baseUrl}/v1/chat/completions`, {
        method: "POST",
        headers: { authorization: `Bearer ${stack.apiKey}`, ...headersOf() },
        body: JSON.stringify({ model: "modelx", max_tokens: 16, messages }),
      });
      if (response.status !== 200) throw new Error(`the gateway answered ${response.status}: ${await response.text()}`);
      const { usage } = usageSchema.parse(await response.json());
      total.prompt += usage.prompt_tokens;
      total.cached += usage.prompt_tokens_details.cached_tokens;
      messages.push({ role: "assistant", content: "Done. ".repeat(50) });
    }
  }

  try {
    let next = 0;
    const worker = async () => {
      while (next < CONVERSATIONS) await converse(next++);
    };
    await Promise.all(Array.from({ length: AT_ONCE }, worker));
  } finally {
    await stack.stop();
    await remove();
    await Promise.all(servers.map((server) => server.close()));
  }
  return total;
}

const percent = ({ prompt, cached }: Tokens) => `${((100 * cached) / prompt).toFixed(1)}%`;
const bound = await measure(() => ({}));
// A session of its own for each turn is what a choice by chance would be.
const byChance = await measure(() => ({ "x-session-id": randomUUID() }));
console.table({
  "by key and beginning of the prompt": { "prompt tokens": bound.prompt, "from a cache": percent(bound) },
  "by chance": { "prompt tokens": byChance.prompt, "from a cache": percent(byChance) },
});
