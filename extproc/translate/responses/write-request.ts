import type { Profile, Verbosity } from "../../../contract/profile.ts";
import { encodeJson, type Encodable } from "../../protocol/json/raw.ts";
import {
  toolNamesIn,
  type ClientWords,
  type Conversation,
  type Omitted,
  type ReadRequest,
} from "../conversation/conversation.ts";
import { fieldError, fieldPath } from "../conversation/field-path.ts";
import { createToolNames, type ToolNames } from "../conversation/names.ts";
import { noPrefill } from "../conversation/turn.ts";
import type { Wishes } from "../conversation/wish.ts";
import { writeIdentity, writePromptCache, writeVerbosity } from "../conversation/write-wishes.ts";
import type { TranslationInput } from "../translation.ts";
import { writeFormat } from "./response-format.ts";
import { writeThinking } from "./thinking.ts";
import { writeTools } from "./tools.ts";
import { writeTurns } from "./write-turns.ts";

/** A request for a Responses server, and the state needed to read its answer. */
export interface WrittenRequest {
  body: Buffer;
  names: ToolNames;
}

/** For turns that are all empty: servers reject an empty list. */
const EMPTY_INPUT = [{ type: "message", role: "user", content: "(continue)" }];

type WriteInput = Pick<TranslationInput, "backend" | "model" | "outputTokens">;
type Members = { readonly [name: string]: Encodable };

/** @throws GatewayError `invalid_request` that names the field that this server does not support (S21). */
export function writeRequest(
  { conversation, omitted }: ReadRequest,
  { backend, model, outputTokens }: WriteInput,
): WrittenRequest {
  const { profile, upstreamModel } = backend;
  const { turns, wishes, words } = conversation;
  const last = turns.at(-1);
  if (last?.role === "assistant") throw noPrefill(last);
  refuseLowLimit(outputTokens, profile, words);
  const names = createToolNames(toolNamesIn(conversation));
  const format = writeFormat(wishes.format, profile);
  const items = writeTurns(turns, { profile, names, words, omitted, model: model.name });
  const body = encodeJson({
    model: upstreamModel,
    // The gateway stores nothing, and has no other service store it.
    store: false,
    max_output_tokens: outputTokens,
    stream: conversation.wantsStream ? true : undefined,
    ...writeTools(conversation, { names, profile, omitted }),
    ...writeSampling(wishes, profile, omitted),
    ...writeThinking(wishes.thinking, profile, omitted),
    text: writeText(format.format, writeVerbosity(wishes, profile, omitted)),
    ...writeIdentity(wishes, profile, omitted),
    ...writePromptCache(wishes, profile, omitted),
    instructions: writeInstructions(conversation, format.instruction),
    // Last, so that a longer conversation starts with the bytes of a shorter one.
    input: items.length === 0 ? EMPTY_INPUT : items,
  });
  return { body: Buffer.from(body), names };
}

function writeText(format: Encodable | null, verbosity: Verbosity | undefined): Encodable {
  return format === null && verbosity === undefined ? undefined : { format: format ?? undefined, verbosity };
}

/** A limit above the client's own would let the answer cost more than it allows. */
function refuseLowLimit(outputTokens: number, { minOutputTokens }: Profile, { outputLimit }: ClientWords): void {
  if (minOutputTokens === null || outputTokens >= minOutputTokens) return;
  throw fieldError(fieldPath(outputLimit), ` must be at least ${minOutputTokens}: this model's server accepts no lower limit.`);
}

function writeInstructions({ system }: Conversation, instruction: string | null): string | undefined {
  const texts = [...system.map(({ text }) => text), ...(instruction === null ? [] : [instruction])].filter((text) => text !== "");
  return texts.length === 0 ? undefined : texts.join("\n");
}

/** Responses has neither `top_k` nor stop sequences. */
function writeSampling({ temperature, topP, topK, stop }: Wishes, { rejects }: Profile, { wishes: omitted }: Omitted): Members {
  const members: { [name: string]: Encodable } = {};
  for (const [name, value] of [
    ["temperature", temperature],
    ["top_p", topP],
  ] as const) {
    if (value === null) continue;
    if (rejects.includes(name)) omitted.add(name);
    else members[name] = value;
  }
  if (topK !== null) omitted.add("top_k");
  if (stop.sequences.length > 0) omitted.add(stop.field);
  return members;
}
