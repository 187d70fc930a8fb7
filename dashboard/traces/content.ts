import type { PromptSealer } from "../../ledger/prompt-log/content.ts";
import { listRecorded, readRecord, type PromptRecord } from "../../ledger/prompt-log/records.ts";
import type { Reader } from "../../ledger/postgres/database.ts";
import type { TracedRequest } from "../../ledger/traces/waiting-requests.ts";
import { readAnswer, readRequest, type Transcript } from "../prompt-log/transcript/transcript.ts";
import { parseObject, type Part, type Turn } from "../prompt-log/transcript/turn.ts";
import type { TracedContent } from "./span.ts";

/** Characters of one side's messages, as JSON. Longer ones are sent as their beginning. */
const MAX_MESSAGES = 1_048_576;
/** Characters of what is sent as one text. */
const MAX_TEXT = 262_144;

/**
 * Reads what is recorded of requests, one after another: each may have megabytes.
 * @returns a function whose result is undefined for a request of which nothing is recorded.
 */
export async function openContent(
  database: Reader,
  sealer: Pick<PromptSealer, "open">,
  { accountId, requests }: { accountId: string; requests: readonly TracedRequest[] },
): Promise<(request: TracedRequest) => Promise<TracedContent | undefined>> {
  const recorded = await listRecorded(database, { accountId, requestIds: requests.map(({ requestId }) => requestId) });
  return async ({ requestId }) => {
    if (!recorded.has(requestId)) return undefined;
    try {
      const record = await readRecord(database, sealer, { accountId, requestId });
      return record && contentOf(record);
    } catch {
      // A record that cannot be opened must not keep the requests behind it from being exported.
      return undefined;
    }
  };
}

/** As OpenTelemetry's conventions write messages. */
export function contentOf({
  content: { request, answer },
  interface: client,
}: Pick<PromptRecord, "content" | "interface">): TracedContent {
  const input = writeMessages(readRequest(request, client), "user", []);
  if (answer === null)
    return { inputMessages: input.json, outputMessages: null, finishReasons: [], isCut: request.isCut || input.isCut };
  const got = readAnswer(answer, client);
  const finishReasons = finishReasonsOf(got);
  const output = writeMessages(got, "assistant", finishReasons);
  const isCut = request.isCut || answer.isCut || input.isCut || output.isCut;
  return { inputMessages: input.json, outputMessages: output.json, finishReasons, isCut };
}

interface Message {
  role: string;
  parts: object[];
}

function writeMessages(transcript: Transcript, role: string, reasons: readonly string[]): { json: string; isCut: boolean } {
  const { turns, whole } = transcript;
  const messages = turns.length > 0 ? turns.map(messageOf) : textMessage(role, whole);
  const json = JSON.stringify(messages.map((message, index) => withReason(message, reasons[index])));
  const isTextCut = turns.length === 0 && whole.length > MAX_TEXT;
  if (json.length <= MAX_MESSAGES) return { json, isCut: isTextCut };
  return { json: JSON.stringify(textMessage(role, json)), isCut: true };
}

function textMessage(role: string, text: string): Message[] {
  return text === "" ? [] : [{ role, parts: [{ type: "text", content: text.slice(0, MAX_TEXT) }] }];
}

function messageOf({ role, parts }: Turn): Message {
  return { role, parts: parts.map(partOf) };
}

function partOf({ kind, title, text }: Part): object {
  switch (kind) {
    case "text":
    case "reasoning":
      return { type: kind, content: text };
    case "tool_call":
      return { type: "tool_call", name: title ?? "", arguments: parseObject(text) ?? text };
    case "tool_result":
      return { type: "tool_call_response", ...(title === null || title === "" ? {} : { id: title }), response: text };
    case "other":
      return { type: title ?? "other", content: text };
  }
}

/** In each protocol's own words, one for each message. */
function finishReasonsOf({ rest }: Transcript): string[] {
  const { finish_reason: chat, stop_reason: messages, status: responses } = parseObject(rest) ?? {};
  return [chat ?? messages ?? responses].flat().filter((reason) => typeof reason === "string");
}

function withReason(message: Message, reason: string | undefined): object {
  return reason === undefined ? message : { ...message, finish_reason: reason };
}
