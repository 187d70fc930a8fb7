import { createHash } from "node:crypto";
import { GatewayError } from "../../../contract/errors.ts";
import { outputLimit, parseChatRequest, type ChatRequest } from "../../protocol/chat/request.ts";
import { encodeJson, RawJson } from "../../protocol/json/raw.ts";
import { rawMember } from "../../protocol/json/scan.ts";
import { createToolNames, type ToolNames } from "../names.ts";
import type { TranslationInput } from "../translation.ts";
import type { Block } from "./block.ts";
import { droppedFields, rejectedFields } from "./policy.ts";
import { planSampling } from "./sampling.ts";
import { planThinking } from "./thinking.ts";
import { describeForgotten, readTools, translateChoice, translateTools } from "./tools.ts";
import { namesInHistory, translateMessages } from "./turns.ts";

/** A chat request in messages' words, and what the answer's translation must remember of it. */
export interface TranslatedRequest {
  body: Buffer;
  dropped: string[];
  wantsStream: boolean;
  maxOutputTokens: number | null;
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
}

const JSON_ONLY: Block = { type: "text", text: "Respond with a single JSON object and nothing else." };
const MAX_USER_ID_LENGTH = 256;

/** @throws GatewayError `invalid_request` that names the field which is wrong or cannot be translated (S21). */
export function translateRequest({ parsed, body, model, backend }: TranslationInput): TranslatedRequest {
  const request = parseChatRequest(parsed);
  refuseUntranslatable(request, rejectedFields(parsed));

  const { tools, choice, isLegacy } = readTools(request, body);
  const history = namesInHistory(request.messages);
  const forgotten = tools.length === 0 ? describeForgotten(history) : [];
  const names = createToolNames([...tools.map((tool) => tool.name), ...history]);
  const cacheTtl = request.prompt_cache_retention === "24h" ? "1h" : null;
  const { system, turns, dropped: droppedHistory } = translateMessages(request.messages, { names, cacheTtl });

  const { profile } = backend;
  const maxTokens = outputLimit(request) ?? model.maxOutputTokens;
  const plan = planThinking(request, { control: profile.thinkingControl, maxTokens, isToolForced: choice.isForced, turns });
  const sampling = planSampling(request, { rejects: profile.rejects, isThinking: plan.isOn });
  const isSerial = request.parallel_tool_calls === false || isLegacy;
  const mustDropSerial = isSerial && profile.rejects.includes("parallel_tool_calls");
  const tier = translateTier(request.service_tier);

  return {
    body: Buffer.from(
      encodeJson({
        model: backend.upstreamModel,
        max_tokens: maxTokens,
        stream: request.stream === true ? true : undefined,
        ...sampling.fields,
        metadata: userId(request),
        service_tier: tier.value,
        thinking: plan.thinking,
        output_config: outputConfig(plan.effort, schemaOf(request, body)),
        tools: nonEmpty(translateTools([...tools, ...forgotten], names, cacheTtl)),
        tool_choice:
          forgotten.length > 0
            ? { type: "none" }
            : chooseAmong(tools.length, translateChoice(choice, names, !isSerial || mustDropSerial)),
        system: nonEmpty(request.response_format?.type === "json_object" ? [...system, JSON_ONLY] : system),
        // Last, so that a longer conversation starts with the bytes of a shorter one.
        messages: turns.map((turn) => ({ role: turn.role, content: turn.content })),
      }),
    ),
    dropped: [
      ...droppedFields(parsed),
      ...sampling.dropped,
      ...plan.dropped,
      ...tier.dropped,
      ...(mustDropSerial && request.parallel_tool_calls === false ? ["parallel_tool_calls"] : []),
      ...droppedHistory,
    ],
    wantsStream: request.stream === true,
    maxOutputTokens: outputLimit(request),
    answer: {
      model: request.model,
      names,
      customTools: new Set(tools.filter((tool) => tool.kind === "custom").map((tool) => tool.name)),
      isLegacy,
      wantsUsage: request.stream_options?.include_usage === true,
      hidesReasoning: request.reasoning?.exclude === true,
    },
  };
}

function refuseUntranslatable(request: ChatRequest, rejected: ReturnType<typeof rejectedFields>): void {
  const first = rejected[0];
  if (first !== undefined)
    throw refuse(first.field, `\`${first.field}\` is not possible with this model: ${first.note}. Leave it out.`);
  if (typeof request.n === "number" && request.n > 1) {
    throw refuse("n", "`n` must be 1: this model gives one answer a request. Send the request several times instead.");
  }
}

function refuse(field: string, sentence: string): GatewayError {
  return new GatewayError("invalid_request", sentence, { field });
}

/** The schema as the client wrote it. */
function schemaOf(request: ChatRequest, body: Buffer): RawJson | undefined {
  if (request.response_format?.type !== "json_schema") return undefined;
  const raw = rawMember(rawMember(rawMember(body, "response_format"), "json_schema"), "schema");
  return raw === undefined ? undefined : new RawJson(raw.toString("utf8"));
}

function outputConfig(effort: string | undefined, schema: RawJson | undefined): Block | undefined {
  if (effort === undefined && schema === undefined) return undefined;
  return { effort, format: schema === undefined ? undefined : { type: "json_schema", schema } };
}

/** Messages asks for an opaque id; what could be a person's address or number goes as its hash. */
function userId(request: ChatRequest): Block | undefined {
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

function chooseAmong(count: number, choice: Block | undefined): Block | undefined {
  return count === 0 ? undefined : choice;
}

function nonEmpty<Item>(items: Item[]): Item[] | undefined {
  return items.length === 0 ? undefined : items;
}
