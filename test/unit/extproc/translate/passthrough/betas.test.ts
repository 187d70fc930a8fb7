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

const EDITS = { edits: [{ type: "clear_thinking_20251015", keep: "all" }] };

test.for([
  ["context-management-2025-06-27", [], false],
  ["context-management-2025-06-27,compact-2026-01-12", ["a-1"], false],
  ["context-management-2025-06-27,compact-2026-01-12", ["compact-2026-01-12"], true],
  ["a-1", [], true],
  ["context-management-2025-06-27", undefined, true],
] as const)("of a client with %j, a server that knows %j gets context_management: %j", ([beta, betas, isSent]) => {
  const request = { ...REQUEST, context_management: EDITS };
  const input = inputFor(request, { upstream: "messages", headers: { [BETA]: beta } });
  const backend = { ...input.backend, ...(betas === undefined ? {} : { betas: [...betas] }) };
  const { upstream, dropped } = createTranslation("messages", { ...input, backend });
  const sent: unknown = JSON.parse(upstream.body.toString());
  expect(sent).toEqual({ ...REQUEST, model: backend.upstreamModel, ...(isSent ? { context_management: EDITS } : {}) });
  expect(dropped.includes("context_management")).toBe(!isSent);
  const count = createTokenCount({ body: input.body, headers: input.headers, backend });
  expect(count.upstream?.body.includes("context_management")).toBe(isSent);
});
