import { createHash } from "node:crypto";
import { countTokens, type Prompt } from "./prompt.ts";

/** What a model server keeps of the prompts that it has read: a prompt that begins like one of them is cheaper. */
export interface PromptCache {
  /** Tokens of the prompt's beginning that are known; the whole prompt is, from then on. */
  read(prompt: Prompt): number;
}

const BLOCK_TOKENS = 64;

/** @param beginnings how many are kept, a conversation having one a turn; those that were read longest ago go first. */
export function createPromptCache({ beginnings = 2_000 }: { beginnings?: number } = {}): PromptCache {
  const known = new Set<string>();

  return {
    read({ model, texts }) {
      const hash = createHash("sha256").update(model);
      let tokens = 0;
      for (const [index, text] of texts.entries()) {
        const key = hash
          .update(`\n${Buffer.byteLength(text)} ${text}`)
          .copy()
          .digest("base64");
        if (known.delete(key)) tokens = countTokens(...texts.slice(0, index + 1));
        known.add(key);
      }
      for (const oldest of known) {
        if (known.size <= beginnings) break;
        known.delete(oldest);
      }
      return tokens - (tokens % BLOCK_TOKENS);
    },
  };
}
