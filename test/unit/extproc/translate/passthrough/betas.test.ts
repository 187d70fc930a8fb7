import { expect, test } from "vitest";
import { createTranslation } from "../../../../../extproc/translate/choose.ts";
import { createTokenCount } from "../../../../../extproc/translate/count-tokens/token-count.ts";
import { inputFor } from "../input.ts";

/** Betas of a client, for a server that may not know them all (S51). */
const REQUEST = { model: "m", max_tokens: 100, messages: [{ role: "user", content: "Hi." }] };
const BETA = "anthropic-beta";

test.for([
  ["a-1, b-2,c-3", undefined, "a-1, b-2,c-3", []],
  ["a-1, b-2,c-3", ["a-1", "c-3"], "a-1,c-3", [BETA]],
  ["a-1, b-2", ["b-2", "a-1", "other"], "a-1, b-2", []],
  ["a-1", [], undefined, [BETA]],
  ["", [], undefined, [BETA]],
  [undefined, [], undefined, []],
] as const)("%j for a server that knows %j is sent as %j", ([beta, betas, sent, dropped]) => {
  const headers: Record<string, string> = beta === undefined ? {} : { [BETA]: beta };
  const input = inputFor(REQUEST, { upstream: "messages", headers });
  const backend = { ...input.backend, ...(betas === undefined ? {} : { betas: [...betas] }) };
  const translation = createTranslation("messages", { ...input, backend });
  expect(translation.upstream.headers[BETA]).toBe(sent);
  expect(translation.dropped).toEqual(dropped);
  const count = createTokenCount({ body: input.body, headers: input.headers, backend });
  expect(count.upstream?.headers[BETA]).toBe(sent);
});
