import type { Profile } from "../../../contract/profile.ts";
import { RawJson } from "../../protocol/json/raw.ts";
import { rawMember } from "../../protocol/json/scan.ts";
import { parseResponsesRequest, type ResponsesRequest } from "../../protocol/responses/request.ts";
import { createOmitted, type ClientWords, type Omitted, type ReadRequest } from "../conversation/conversation.ts";
import { below, fieldPath } from "../conversation/field-path.ts";
import { opaqueUserId } from "../conversation/user-id.ts";
import type { TextBlock } from "../conversation/turn.ts";
import type { FormatWish, Wishes } from "../conversation/wish.ts";
import type { Storage, TranslationInput } from "../translation.ts";
import { checkFields } from "./dropped-fields.ts";
import { echo } from "./echo.ts";
import { readTurns } from "./read-turns.ts";
import { readThinking } from "./thinking.ts";
import { readTools, type ClientTool } from "./tools.ts";

export interface ReadResponsesRequest extends ReadRequest {
  asked: AskedOfAnswer;
}

/** The form of the answer that the client requests. */
export interface AskedOfAnswer {
  /** The Model's own name; reasoning can go back to it alone. */
  thinker: string;
  /** By the one name under which the model gets it. */
  clientTools: ReadonlyMap<string, ClientTool>;
  /** Reasoning must be returned in a form that can be sent back. */
  wantsEncryptedReasoning: boolean;
  /** Members of the request that the response repeats. */
  echoed: { readonly [name: string]: RawJson };
}

const WORDS: ClientWords = {
  thinking: "input[].reasoning",
  redactedThinking: "input[].reasoning",
  strictTool: "tools[].strict",
  imageDetail: "input[].content[].detail",
  outputLimit: "max_output_tokens",
  serialCalls: "parallel_tool_calls",
};

/** @throws GatewayError `invalid_request` that names the field that is invalid or that no other protocol has (S21). */
export function readRequest({
  body,
  model,
  backend,
  storage = null,
}: Pick<TranslationInput, "body" | "model" | "backend" | "storage">): ReadResponsesRequest {
  const parsed = body.whole();
  const omitted = createOmitted(checkFields(parsed));
  const request = parseResponsesRequest(parsed);
  const { tools, choice, clientTools } = readTools(request, body.bytes, omitted);
  const { system, turns } = readTurns(request.input, { model: model.name, omitted });
  return {
    conversation: {
      model: request.model,
      wantsStream: request.stream === true,
      system: [...instructions(request), ...system],
      turns,
      tools,
      choice,
      isSerial: request.parallel_tool_calls === false,
      wishes: readWishes(request, { body: body.bytes, profile: backend.profile, omitted }),
      words: WORDS,
    },
    omitted,
    asked: {
      thinker: model.name,
      clientTools,
      // Stored content is sent back to the model in a later turn.
      wantsEncryptedReasoning: storage?.isStored === true || (request.include?.includes("reasoning.encrypted_content") ?? false),
      echoed: { ...echo(parsed, body.bytes), ...(storage !== null && echoStorage(storage)) },
    },
  };
}

function instructions({ instructions: text }: ResponsesRequest): TextBlock[] {
  return text?.trim() ? [{ type: "text", text, cache: null, at: fieldPath("instructions") }] : [];
}

interface WishContext {
  body: Buffer;
  profile: Profile;
  omitted: Omitted;
}

function readWishes(request: ResponsesRequest, { body, profile, omitted }: WishContext): Wishes {
  const verbosity = request.text?.verbosity;
  return {
    temperature: request.temperature ?? null,
    topP: request.top_p ?? null,
    topK: null,
    stop: { sequences: [], field: "stop" },
    thinking: readThinking(request),
    format: readFormat(request, body),
    ...readIdentity(request, profile, omitted),
    verbosity: verbosity ? { level: verbosity, field: "text.verbosity" } : null,
    promptCache: {
      key: request.prompt_cache_key || null,
      retention: request.prompt_cache_retention || null,
      isInMarks: false,
    },
  };
}

/** Servers of every protocol may reject these. */
function readIdentity(
  { user, safety_identifier: safety, service_tier: tier }: ResponsesRequest,
  { rejects, accepts }: Profile,
  { wishes: omitted }: Omitted,
): Pick<Wishes, "user" | "safetyIdentifier" | "tier"> {
  const takesUser = !rejects.includes("user");
  const takesSafety = takesUser || accepts.includes("safety_identifier");
  const takesTier = !rejects.includes("service_tier");
  if (user && !takesUser) omitted.add("user");
  if (safety && !takesSafety) omitted.add("safety_identifier");
  // "auto" is every server's behavior.
  if (tier && tier !== "auto" && (tier !== "default" || !takesTier)) omitted.add("service_tier");
  return {
    user: user && takesUser ? { id: opaqueUserId(user), field: "user" } : null,
    safetyIdentifier: safety && takesSafety ? opaqueUserId(safety) : null,
    tier: tier === "default" && takesTier ? "standard" : null,
  };
}

function readFormat(request: ResponsesRequest, body: Buffer): FormatWish | null {
  const format = request.text?.format;
  if (format?.type === "json_object") return { type: "json_object" };
  if (format?.type !== "json_schema") return null;
  const written = rawMember(rawMember(rawMember(body, "text"), "format"), "schema");
  const at = below(fieldPath("text"), "format");
  return {
    type: "json_schema",
    schema: new RawJson(written?.toString("utf8") ?? "{}"),
    parsed: format.schema,
    name: format.name || null,
    description: format.description || null,
    strict: format.strict ?? null,
    at,
    schemaAt: below(at, "schema"),
  };
}

function echoStorage({ isStored, previousResponseId }: Storage): { readonly [name: string]: RawJson } {
  return {
    store: new RawJson(String(isStored)),
    previous_response_id: new RawJson(JSON.stringify(previousResponseId)),
  };
}
