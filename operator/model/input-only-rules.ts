import * as z from "zod";
import type { Rule } from "../crd/explain.ts";
import type { Problem } from "./field-message.ts";
import { hasOutput, isInputInterfaceName, ofInput, ofInputOnly } from "./input-interfaces.ts";

// Checks made both here and by the API server have the same messages.
const NO_OUTPUT_LIMIT = "must be absent for Embeddings, Rerank and Speech: their answers have no tokens";
const NO_CAPABILITIES =
  "must be absent for Embeddings, Rerank, ImageGeneration, Speech and Transcription: nothing else is asked of the Model";
const NO_ANSWERS =
  "must not name Answers for Embeddings, Rerank, ImageGeneration, Speech and Transcription: only the answers of conversations are checked";
const CHAT_ONLY =
  "must all have protocol ChatCompletions for Embeddings, Rerank, ImageGeneration, Speech and Transcription: Messages has none of them, and servers of Responses that have them take ChatCompletions";

const anything = z.unknown().optional();

/** What the rules read of a Model's specification; other invalid fields are reported as well. */
const inputOnlySpec = z.object({
  interfaces: z.array(z.unknown()).default([]),
  capabilities: anything,
  limits: z.object({ maxOutputTokens: anything }).default({}),
  guardrail: z.object({ check: z.array(z.unknown()).default([]) }).default({ check: [] }),
  backends: z.array(z.object({ protocol: anything })).default([]),
});

/** Fields other than prices that a Model of an input interface must not have. */
export function inputOnlyProblems(spec: unknown): Problem[] {
  const parsed = inputOnlySpec.safeParse(spec);
  if (!parsed.success || !parsed.data.interfaces.some(isInputInterfaceName)) return [];
  const { interfaces, capabilities, limits, guardrail, backends } = parsed.data;
  const checks: [isWrong: boolean, path: string[], message: string][] = [
    [!hasOutput(interfaces) && limits.maxOutputTokens !== undefined, ["limits", "maxOutputTokens"], NO_OUTPUT_LIMIT],
    [capabilities !== undefined, ["capabilities"], NO_CAPABILITIES],
    [guardrail.check.includes("Answers"), ["guardrail", "check"], NO_ANSWERS],
    [backends.some(({ protocol }) => protocol !== "ChatCompletions"), ["backends"], CHAT_ONLY],
  ];
  return checks.flatMap(([isWrong, path, message]) => (isWrong ? [{ path, message }] : []));
}

/** The same for the API server. */
export const INPUT_ONLY_RULES: readonly Rule[] = [
  {
    rule: ofInputOnly("!has(self.limits) || !has(self.limits.maxOutputTokens)"),
    message: NO_OUTPUT_LIMIT,
    field: "limits.maxOutputTokens",
  },
  { rule: ofInput("!has(self.capabilities)"), message: NO_CAPABILITIES, field: "capabilities" },
  {
    rule: ofInput('!has(self.guardrail) || !has(self.guardrail.check) || !("Answers" in self.guardrail.check)'),
    message: NO_ANSWERS,
    field: "guardrail.check",
  },
  {
    rule: ofInput('self.backends.all(each, each.protocol == "ChatCompletions")'),
    message: CHAT_ONLY,
    field: "backends",
  },
];
