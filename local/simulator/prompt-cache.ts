import { createHash } from "node:crypto";
import { countTokens, type Prompt } from "./prompt.ts";

/** A model server's cache of prompts: a prompt that begins like an earlier one is cheaper. */
export interface PromptCache {
  /** Tokens of the prompt's beginning that are known; from then on, the whole prompt is. */
  read(prompt: Prompt): number;
}

const BLOCK_TOKENS = 64;

/** @param beginnings how many are kept, one per turn of a conversation; those unused for longest are dropped first. */
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
