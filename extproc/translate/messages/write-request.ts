import { DEFAULT_VERBOSITY } from "../../../contract/profile.ts";
import { encodeJson } from "../../protocol/json/raw.ts";
import { calledTools, toolNamesIn, type Omitted, type ReadRequest } from "../conversation/conversation.ts";
import { createToolNames, type ToolNames } from "../conversation/names.ts";
import { AUTO, isForced, type Tool, type ToolChoice } from "../conversation/tool.ts";
import type { Wishes } from "../conversation/wish.ts";
import { DEFAULT_RETENTION } from "../conversation/write-wishes.ts";
import type { TranslationInput } from "../translation.ts";
import { writeFormat } from "./response-format.ts";
import { writeSampling } from "./sampling.ts";
import { writeThinking } from "./thinking.ts";
import { describeForgotten, writeChoice, writeTools } from "./tools.ts";
import type { Block } from "./wire-block.ts";
import { writeText, writeTurns } from "./write-turns.ts";

/** A request for a messages server, and the state needed to read its answer. */
export interface WrittenRequest {
  body: Buffer;
  names: ToolNames;
  /** The tool whose input is the answer, by the server's name; null if the answer is ordinary text. */
  answerTool: string | null;
}

type WriteInput = Pick<TranslationInput, "backend" | "outputTokens">;

/** @throws GatewayError `invalid_request` that names the field that this server does not support (S21). */
export function writeRequest({ conversation, omitted }: ReadRequest, { backend, outputTokens }: WriteInput): WrittenRequest {
  const { turns, tools, wishes, words, isSerial: wantsSerial } = conversation;
  const { profile } = backend;
  const called = calledTools(turns);
  const choice = conversation.choice ?? AUTO;
  const names = createToolNames(toolNamesIn(conversation));
  const written = writeTurns(turns, { names, takesSystemTurns: profile.systemTurns, words, omitted });
  const forgotten = tools.length === 0 ? describeForgotten(called) : [];
  const {
    format,
    instruction,
    tool: answerTool,
  } = writeFormat(wishes.format, {
    jsonSchema: profile.jsonSchema,
    hasTools: tools.length > 0 && choice.type !== "none",
    names: toolNamesIn(conversation),
  });
  const thinking = writeThinking(wishes.thinking, {
    control: profile.thinkingControl,
    maxTokens: outputTokens,
    isToolForced: isForced(choice) || answerTool !== null,
    turns: written,
  });
  const sampling = writeSampling(wishes, { rejects: profile.rejects, isThinking: thinking.isOn }, omitted);
  for (const field of thinking.omitted) omitted.wishes.add(field);
  omitHints(wishes, omitted);
  const isSerial = wantsSerial || answerTool !== null;
  const mustDropSerial = isSerial && profile.rejects.includes("parallel_tool_calls");
  if (mustDropSerial && wantsSerial && words.serialCalls !== null) omitted.wishes.add(words.serialCalls);
  const offered = [...tools, ...forgotten, ...(answerTool === null ? [] : [answerTool])];
  const chosen = chooseTool(choice, { answerTool, isForgotten: forgotten.length > 0 });
  const system = conversation.system.map(writeText);

  const body = encodeJson({
    model: backend.upstreamModel,
    max_tokens: outputTokens,
    stream: conversation.wantsStream ? true : undefined,
    ...sampling,
    thinking: thinking.thinking,
    output_config: outputConfig(thinking.effort, format),
    ...writeIdentity(wishes),
    tools: nonEmpty(writeTools(offered, names)),
    tool_choice: offered.length === 0 ? undefined : writeChoice(chosen, names, !isSerial || mustDropSerial),
    system: nonEmpty(instruction === null ? system : [...system, instruction]),
    // Last, so that a longer conversation starts with the bytes of a shorter one.
    messages: written.map(({ role, content }) => ({ role, content })),
  });
  return { body: Buffer.from(body), names, answerTool: answerTool?.name ?? null };
}

/** Tools that are described only for the history must not be called; the one that gives the answer must. */
function chooseTool(choice: ToolChoice, facts: { answerTool: Tool | null; isForgotten: boolean }): ToolChoice {
  if (facts.answerTool !== null) return { type: "tool", name: facts.answerTool.name };
  return facts.isForgotten ? { type: "none" } : choice;
}

function outputConfig(effort: string | undefined, format: Block | null): Block | undefined {
  return effort === undefined && format === null ? undefined : { effort, format: format ?? undefined };
}

function writeIdentity({ user, safetyIdentifier, tier }: Wishes): Block {
  const id = user?.id ?? safetyIdentifier;
  return {
    metadata: id === null ? undefined : { user_id: id },
    service_tier: tier === "standard" ? "standard_only" : undefined,
  };
}

/** Messages has no field for it. It caches by content, for the lifetime in the prompt's marks. */
function omitHints({ verbosity, promptCache }: Wishes, { wishes: omitted }: Omitted): void {
  if (verbosity !== null && verbosity.level !== DEFAULT_VERBOSITY) omitted.add(verbosity.field);
  const { key, retention, isInMarks } = promptCache;
  if (key !== null) omitted.add("prompt_cache_key");
  if (retention !== null && retention !== DEFAULT_RETENTION && !isInMarks) omitted.add("prompt_cache_retention");
}

function nonEmpty<Item>(items: Item[]): Item[] | undefined {
  return items.length === 0 ? undefined : items;
}
