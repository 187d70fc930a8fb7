import { expect, test } from "vitest";
import { createTranslation } from "../../../../../extproc/translate/choose.ts";
import { inputFor } from "../input.ts";

const REQUEST = { model: "m", max_tokens: 10, messages: [{ role: "user", content: "hi" }] };

function betaSent(
  beta: string,
  { contextWindow = null, ...flags }: { contextWindow?: number | null; unpricedFeatures?: boolean },
) {
  const input = inputFor(REQUEST, { upstream: "messages", headers: { "anthropic-beta": beta }, flags });
  const { upstream } = createTranslation("messages", { ...input, model: { ...input.model, contextWindow } });
  return upstream.headers["anthropic-beta"];
}

test.for([
  ["context-1m-2025-08-07", { contextWindow: 200_000 }, undefined],
  ["context-1m-2025-08-07", {}, undefined],
  ["a-2025-01-01, context-1m-2025-08-07,b-2025-01-01", { contextWindow: 200_000 }, "a-2025-01-01,b-2025-01-01"],
  ["context-management-2025-06-27", { contextWindow: 200_000 }, "context-management-2025-06-27"],
  ["context-1m-2025-08-07", { contextWindow: 1_000_000 }, "context-1m-2025-08-07"],
  ["context-1m-2025-08-07", { unpricedFeatures: true }, "context-1m-2025-08-07"],
] as const)("%s of a client, with %j, is sent as %s", ([beta, options, sent]) => {
  expect(betaSent(beta, options)).toBe(sent);
});
