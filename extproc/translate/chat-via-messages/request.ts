import { createHash } from "node:crypto";
import { GatewayError } from "../../../contract/errors.ts";
import { parseChatRequest, type ChatRequest } from "../../protocol/chat/request.ts";
import { encodeJson } from "../../protocol/json/raw.ts";
import { createToolNames, type ToolNames } from "../conversation/names.ts";
import type { TranslationInput } from "../translation.ts";
import { planAnswerFormat, readFormatWish } from "./answer-format.ts";
import type { Block } from "./block.ts";
import { droppedFields } from "./dropped-fields.ts";
import { planSampling } from "./sampling.ts";
import { planThinking } from "./thinking.ts";
import { describeForgotten, readTools, translateChoice, translateTools, type Choice, type OfferedTool } from "./tools.ts";
import { namesInHistory, translateMessages } from "./turns.ts";

/** A chat request in messages' words, and what the answer's translation must remember of it. */
export interface TranslatedRequest {
  body: Buffer;
  dropped: string[];
  wantsStream: boolean;
  answer: AnswerFacts;
}

export interface AnswerFacts {
  /** The name that the client asked for. */
  model: string;
  names: ToolNames;
  /** Tools whose input is free text, by the client's names. */
  customTools: ReadonlySet<string>;
  /** The client speaks `function_call`. */
  isLegacy: boolean;
  wantsUsage: boolean;
  hidesReasoning: boolean;
  /** The tool whose input is the answer, by the upstream's name; null where the answer is text as always. */
  answerTool: string | null;
}

const MAX_USER_ID_LENGTH = 256;

/** @throws GatewayError `invalid_request` that names the field which is wrong or cannot be translated (S21). */
export function translateRequest({ body, backend, outputTokens }: TranslationInput): TranslatedRequest {
  const parsed = body.whole();
  const request = parseChatRequest(parsed);
  const dropped = droppedFields(parsed);
  refuseSeveralAnswers(request);

  const { tools, choice, isLegacy, dropped: droppedTools } = readTools(request, body.bytes);
  const history = namesInHistory(request.messages);
  const forgotten = tools.length === 0 ? describeForgotten(history) : [];
  const names = createToolNames([...tools.map((tool) => tool.name), ...history]);
  const cacheTtl = request.prompt_cache_retention === "24h" ? "1h" : null;
  const { profile } = backend;
  const {
    system,
    turns,
    dropped: droppedHistory,
  } = translateMessages(request.messages, {
    names,
    cacheTtl,
    systemTurns: profile.systemTurns ? "behind_user" : "nowhere",
  });
  const {
    format,
    instruction,
    tool: answerTool,
  } = planAnswerFormat(readFormatWish(request, body.bytes), {
    jsonSchema: profile.jsonSchema,
    hasTools: tools.length > 0 && choice.type !== "none",
    names: [...tools.map((tool) => tool.name), ...history],
  });
  const isToolForced = choice.isForced || answerTool !== null;
  const plan = planThinking(request, {
    control: profile.thinkingControl,
    maxTokens: outputTokens,
    isToolForced,
    turns,
  });
  const sampling = planSampling(request, { rejects: profile.rejects, isThinking: plan.isOn });
  const isSerial = request.parallel_tool_calls === false || isLegacy || answerTool !== null;
  const mustDropSerial = isSerial && profile.rejects.includes("parallel_tool_calls");
  const tier = translateTier(request.service_tier);
  const offered = [...tools, ...forgotten, ...(answerTool === null ? [] : [answerTool])];
  const chosen = chooseTool(choice, { answerTool, isForgotten: forgotten.length > 0 });

  return {
    body: Buffer.from(
      encodeJson({
        model: backend.upstreamModel,
        max_tokens: outputTokens,
        stream: request.stream === true ? true : undefined,
        ...sampling.fields,
        metadata: userId(request),
        service_tier: tier.value,
        thinking: plan.thinking,
        output_config: outputConfig(plan.effort, format),
        tools: nonEmpty(translateTools(offered, names, cacheTtl)),
        tool_choice: offered.length === 0 ? undefined : translateChoice(chosen, names, !isSerial || mustDropSerial),
        system: nonEmpty(instruction === null ? system : [...system, instruction]),
        // Last, so that a longer conversation starts with the bytes of a shorter one.
        messages: turns.map((turn) => ({ role: turn.role, content: turn.content })),
      }),
    ),
    dropped: [
      ...dropped,
      ...sampling.dropped,
      ...plan.dropped,
      ...tier.dropped,
      ...(mustDropSerial && request.parallel_tool_calls === false ? ["parallel_tool_calls"] : []),
      ...droppedTools,
      ...droppedHistory,
    ],
    wantsStream: request.stream === true,
    answer: {
      model: request.model,
      names,
      customTools: new Set(tools.filter((tool) => tool.kind === "custom").map((tool) => tool.name)),
      isLegacy,
      wantsUsage: request.stream_options?.include_usage === true,
      hidesReasoning: request.reasoning?.exclude === true,
      answerTool: answerTool?.name ?? null,
    },
  };
}

function refuseSeveralAnswers(request: ChatRequest): void {
  if (typeof request.n === "number" && request.n > 1) {
    throw refuse("n", "`n` must be 1: this model gives one answer a request. Send the request several times instead.");
  }
}

function refuse(field: string, sentence: string): GatewayError {
  return new GatewayError("invalid_request", sentence, { field });
}

/** Tools that are only described for the history's sake must not be called; the one that gives the answer must. */
function chooseTool(choice: Choice, facts: { answerTool: OfferedTool | null; isForgotten: boolean }): Choice {
  if (facts.answerTool !== null) return { type: "tool", name: facts.answerTool.name, isForced: true };
  return facts.isForgotten ? { type: "none", isForced: false } : choice;
}

function outputConfig(effort: string | undefined, format: Block | null): Block | undefined {
  return effort === undefined && format === null ? undefined : { effort, format: format ?? undefined };
}

/** Messages asks for an opaque id; what could be a person's address or number goes as its hash. */
export function userId(request: Pick<ChatRequest, "user" | "safety_identifier">): Block | undefined {
  const id = request.user || request.safety_identifier;
  if (!id) return undefined;
  const isOpaque = id.length <= MAX_USER_ID_LENGTH && !id.includes("@") && !/^[+\d][\d\s().-]{5,}$/.test(id);
  return { user_id: isOpaque ? id : `user_${createHash("sha256").update(id).digest("hex")}` };
}

function translateTier(tier: string | null | undefined): { value: string | undefined; dropped: string[] } {
  if (tier === "default") return { value: "standard_only", dropped: [] };
  const isNeutral = tier === undefined || tier === null || tier === "auto";
  return { value: undefined, dropped: isNeutral ? [] : ["service_tier"] };
}

function nonEmpty<Item>(items: Item[]): Item[] | undefined {
  return items.length === 0 ? undefined : items;
}
