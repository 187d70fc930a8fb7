import { expect, test } from "vitest";
import { createPromptCache } from "../../../../local/simulator/prompt-cache.ts";
import { startSimulator } from "../../../../local/simulator/simulator.ts";
import * as z from "zod";

const LONG = "word ".repeat(200); // 250 tokens

const usage = z.looseObject({
  usage: z.looseObject({ prompt_tokens: z.number(), prompt_tokens_details: z.strictObject({ cached_tokens: z.number() }) }),
});

async function ask(url: string, texts: readonly string[]): Promise<number> {
  const messages = texts.map((content, index) => ({ role: index % 2 === 0 ? "user" : "assistant", content }));
  const response = await fetch(`${url}/v1/chat/completions`, { method: "POST", body: JSON.stringify({ model: "m", messages }) });
  return usage.parse(await response.json()).usage.prompt_tokens_details.cached_tokens;
}

test("a server with a prompt cache knows the prompts that it has read, in whole blocks, and nothing else", async () => {
  const simulator = await startSimulator({ promptCache: createPromptCache() });
  try {
    expect(await ask(simulator.url, [LONG])).toBe(0);
    expect(await ask(simulator.url, [LONG, LONG, "More?"])).toBe(192);
    expect(await ask(simulator.url, [LONG, LONG, "Other?"])).toBe(448);
    expect(await ask(simulator.url, [`x${LONG}`, LONG, "More?"])).toBe(0);
  } finally {
    await simulator.close();
  }
});

test("the entry unused for longest is forgotten first", async () => {
  const simulator = await startSimulator({ promptCache: createPromptCache({ beginnings: 2 }) });
  try {
    for (const first of ["a", "b", "a", "c"]) await ask(simulator.url, [first + LONG]);
    expect(await ask(simulator.url, [`a${LONG}`])).toBe(192);
    expect(await ask(simulator.url, [`b${LONG}`])).toBe(0);
  } finally {
    await simulator.close();
  }
});
