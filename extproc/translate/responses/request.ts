import type { JsonObject } from "../../protocol/json/object.ts";
import type { Backend } from "../../../contract/catalogue.ts";
import { encodeJson, RawJson } from "../../protocol/json/raw.ts";
import { parsedBody, type RequestBody } from "../../protocol/json/request-body.ts";
import { rawMember } from "../../protocol/json/scan.ts";
import { parseResponsesRequest, type ResponsesRequest } from "../../protocol/responses/request.ts";
import type { FormatWish } from "../chat-via-messages/answer-format.ts";
import { userId } from "../chat-via-messages/request.ts";
import { describeForgotten, translateChoice, translateTools } from "../chat-via-messages/tools.ts";
import { namesInHistory, translateMessages, type Conversation, type ConversationOptions } from "../chat-via-messages/turns.ts";
import { createToolNames, type ToolNames } from "../conversation/names.ts";
import type { TranslationInput } from "../translation.ts";
import { checkFields, inRequestWords } from "./dropped-fields.ts";
import { inInputWords } from "./field-words.ts";
import { translateInput } from "./input.ts";
import { planForUpstream } from "./plan.ts";
import { readTools, type ClientTool } from "./tools.ts";

/** A Responses request in messages' words, and what the answer must know of it. */
export interface TranslatedRequest {
  /** A messages request that still has the client's model name. */
  body: RequestBody;
  dropped: string[];
  wantsStream: boolean;
  /** A chat server is to be asked for JSON, which messages has no word for. */
  wantsJsonObject: boolean;
  answer: AnswerFacts;
}

export interface AnswerFacts {
  /** The name that the client asked for. */
  model: string;
  /** The Model's own name; reasoning can go back to it alone. */
  thinker: string;
  names: ToolNames;
  /** By the name that all protocols accept and the client never sees. */
  clientTools: ReadonlyMap<string, ClientTool>;
  /** The tool whose input is the answer, by the upstream's name; null where the answer is text as always. */
  answerTool: string | null;
  /** Reasoning must come in a form that can be sent back. */
  wantsEncryptedReasoning: boolean;
  /** Members of the request that the response repeats. */
  echoed: { readonly [name: string]: RawJson };
}

/** Members that a response repeats, where the request has them. */
const ECHOED = [
  "instructions",
  "max_output_tokens",
  "metadata",
  "parallel_tool_calls",
  "reasoning",
  "temperature",
  "text",
  "tool_choice",
  "tools",
  "top_p",
  "user",
] as const;

/** @throws GatewayError `invalid_request` that names the field which is wrong or cannot be translated (S21). */
export function translateRequest({ body, model, backend, outputTokens }: TranslationInput): TranslatedRequest {
  const parsed = body.whole();
  const dropped = new Set(checkFields(parsed));
  const request = parseResponsesRequest(parsed);
  const { protocol: upstream, profile } = backend;
  const { tools, choice, clientTools, dropped: droppedTools } = readTools(request, body.bytes);
  const { messages, places } = translateInput(request.input, { upstream, model: model.name, dropped });
  const history = namesInHistory(messages);
  // A messages server wants the tools of a history described, even where none is offered any more.
  const forgotten = upstream === "messages" && tools.length === 0 ? describeForgotten(history) : [];
  const names = createToolNames([...tools.map((tool) => tool.name), ...history]);
  const conversation = inInputWords(places, request.input, () =>
    translateMessages(messages, { names, cacheTtl: null, systemTurns: placeOfSystem(backend) }),
  );

  const plan = planForUpstream(request, {
    upstream,
    profile,
    format: readFormat(request, body.bytes),
    choice,
    hasTools: tools.length > 0,
    names: [...tools.map((tool) => tool.name), ...history],
    turns: conversation.turns,
    outputTokens,
  });
  const offered = [...tools, ...forgotten, ...(plan.answerTool === null ? [] : [plan.answerTool])];
  const chosen = forgotten.length > 0 && plan.answerTool === null ? ({ type: "none", isForced: false } as const) : plan.choice;
  const namesUser = !profile.rejects.includes("user");
  if (!namesUser && request.safety_identifier) dropped.add("safety_identifier");
  if (!namesUser && request.user) dropped.add("user");
  const text = encodeJson({
    model: request.model,
    max_tokens: outputTokens,
    stream: request.stream === true ? true : undefined,
    ...plan.fields,
    metadata: namesUser ? userId(request) : undefined,
    tools: nonEmpty(translateTools(offered, names, null)),
    tool_choice: offered.length === 0 ? undefined : translateChoice(chosen, names, plan.isParallel),
    system: nonEmpty(systemBlocks(request, conversation, plan.instruction)),
    // Last, so that a longer conversation starts with the bytes of a shorter one.
    messages: conversation.turns.map(({ role, content }) => ({ role, content })),
  });
  for (const name of [...droppedTools, ...plan.dropped, ...conversation.dropped]) dropped.add(inRequestWords(name));

  return {
    body: parsedBody(Buffer.from(text), JSON.parse(text)),
    dropped: [...dropped],
    wantsStream: request.stream === true,
    wantsJsonObject: plan.wantsJsonObject,
    answer: {
      model: request.model,
      thinker: model.name,
      names,
      clientTools,
      answerTool: plan.answerTool?.name ?? null,
      wantsEncryptedReasoning: request.include?.includes("reasoning.encrypted_content") ?? false,
      echoed: echo(parsed, body.bytes),
    },
  };
}

/** What a chat server allows is for the next step to know. */
function placeOfSystem({ protocol, profile }: Backend): ConversationOptions["systemTurns"] {
  if (protocol === "chat") return "anywhere";
  return profile.systemTurns ? "behind_user" : "nowhere";
}

function systemBlocks(request: ResponsesRequest, conversation: Conversation, instruction: string | null) {
  return [
    ...(request.instructions?.trim() ? [{ type: "text", text: request.instructions }] : []),
    ...conversation.system,
    ...(instruction === null ? [] : [{ type: "text", text: instruction }]),
  ];
}

function readFormat(request: ResponsesRequest, body: Buffer): FormatWish | null {
  const format = request.text?.format;
  if (format?.type === "json_object") return { type: "json_object" };
  if (format?.type !== "json_schema") return null;
  const written = rawMember(rawMember(rawMember(body, "text"), "format"), "schema");
  return {
    type: "json_schema",
    schema: new RawJson(written?.toString("utf8") ?? "{}"),
    parsed: format.schema,
    field: "text.format",
    schemaField: "text.format.schema",
  };
}

/** As they were written: a schema's big integers survive. On one line, which is how clients like an event's data. */
function echo(parsed: JsonObject, body: Buffer): { readonly [name: string]: RawJson } {
  const there = ECHOED.filter((name) => (parsed[name] ?? null) !== null);
  const text = (name: string) => rawMember(body, name)?.toString("utf8").replaceAll(LINE_BREAKS, "") ?? "null";
  return Object.fromEntries(there.map((name) => [name, new RawJson(text(name))]));
}

/** In JSON they stand only between values, never inside a string. */
const LINE_BREAKS = /[\r\n]+\s*/g;

function nonEmpty<Item>(items: Item[]): Item[] | undefined {
  return items.length === 0 ? undefined : items;
}
