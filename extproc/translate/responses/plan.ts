import type { Effort, Profile } from "../../../contract/profile.ts";
import type { Protocol } from "../../../contract/protocol.ts";
import type { ResponsesRequest } from "../../protocol/responses/request.ts";
import type { Block, Turn } from "../chat-via-messages/block.ts";
import { planAnswerFormat, type FormatWish } from "../chat-via-messages/answer-format.ts";
import { planSampling } from "../chat-via-messages/sampling.ts";
import { planThinking } from "../chat-via-messages/thinking.ts";
import type { Choice, OfferedTool } from "../chat-via-messages/tools.ts";
import { schemaInstruction } from "../conversation/schema-instruction.ts";

/** What differs by the server that the request goes to. */
export interface UpstreamPlan {
  /** Members of the messages request: sampling, thinking and the answer's form. */
  fields: { readonly [name: string]: Block | number | undefined };
  choice: Choice;
  isParallel: boolean;
  /** The last part of the system prompt. */
  instruction: string | null;
  answerTool: OfferedTool | null;
  wantsJsonObject: boolean;
  dropped: string[];
}

export interface UpstreamFacts {
  upstream: Protocol;
  profile: Profile;
  format: FormatWish | null;
  choice: Choice;
  hasTools: boolean;
  /** Tool names that are taken. */
  names: readonly string[];
  turns: readonly Turn[];
  /** The output limit that is sent. */
  outputTokens: number;
}

export function planForUpstream(request: ResponsesRequest, facts: UpstreamFacts): UpstreamPlan {
  return facts.upstream === "chat" ? planForChat(request, facts) : planForMessages(request, facts);
}

/** The next step, from messages to chat, knows what a chat server takes: here everything is only said. */
function planForChat(request: ResponsesRequest, { profile, format, choice }: UpstreamFacts): UpstreamPlan {
  const isInstructed = format?.type === "json_schema" && profile.jsonSchema !== "native" && profile.jsonSchema !== "json_object";
  const { thinking, effort } = thinkingOf(request.reasoning?.effort ?? null);
  const schema = format?.type === "json_schema" && !isInstructed ? { type: "json_schema", schema: format.schema } : undefined;
  return {
    fields: {
      temperature: request.temperature ?? undefined,
      top_p: request.top_p ?? undefined,
      thinking,
      output_config: outputConfig(effort, schema),
    },
    choice,
    isParallel: request.parallel_tool_calls !== false,
    instruction: isInstructed ? schemaInstruction(format.schema) : null,
    answerTool: null,
    wantsJsonObject: format?.type === "json_object",
    dropped: [],
  };
}

/** Messages switches thinking on or off, and has no word below "low": the smallest budget says it. */
function thinkingOf(effort: Effort | null): { thinking?: Block; effort?: string } {
  if (effort === null) return {};
  if (effort === "none") return { thinking: { type: "disabled" } };
  if (effort === "minimal") return { thinking: { type: "enabled", budget_tokens: 512 } };
  return { thinking: { type: "enabled", budget_tokens: 8192 }, effort };
}

function planForMessages(request: ResponsesRequest, facts: UpstreamFacts): UpstreamPlan {
  const { profile, choice } = facts;
  const {
    format,
    instruction,
    tool: answerTool,
  } = planAnswerFormat(facts.format, {
    jsonSchema: profile.jsonSchema,
    hasTools: facts.hasTools && choice.type !== "none",
    names: facts.names,
  });
  const isToolForced = choice.isForced || answerTool !== null;
  const thinking = planThinking(
    { reasoning_effort: request.reasoning?.effort },
    { control: profile.thinkingControl, maxTokens: facts.outputTokens, isToolForced, turns: facts.turns },
  );
  const sampling = planSampling(request, { rejects: profile.rejects, isThinking: thinking.isOn });
  const isSerial = request.parallel_tool_calls === false || answerTool !== null;
  const mustDropSerial = isSerial && profile.rejects.includes("parallel_tool_calls");
  return {
    fields: {
      temperature: sampling.fields.temperature,
      top_p: sampling.fields.top_p,
      thinking: thinking.thinking,
      output_config: outputConfig(thinking.effort, format ?? undefined),
    },
    choice: answerTool === null ? choice : { type: "tool", name: answerTool.name, isForced: true },
    isParallel: !isSerial || mustDropSerial,
    instruction: typeof instruction?.["text"] === "string" ? instruction["text"] : null,
    answerTool,
    wantsJsonObject: false,
    dropped: [
      ...sampling.dropped,
      ...thinking.dropped,
      ...(mustDropSerial && request.parallel_tool_calls === false ? ["parallel_tool_calls"] : []),
    ],
  };
}

function outputConfig(effort: string | undefined, format: Block | undefined): Block | undefined {
  return effort === undefined && format === undefined ? undefined : { effort, format };
}
