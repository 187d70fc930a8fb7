import { encodeError, ERRORS, toGatewayError } from "../../contract/errors.ts";
import type { Dialect } from "../../contract/protocol.ts";
import { readUpstreamError } from "../../extproc/protocol/upstream-error.ts";
import { readFinishReason, writeFinishReason } from "../../extproc/translate/chat/stop-reason.ts";
import { readStopReason, writeStopReason } from "../../extproc/translate/messages/stop-reason.ts";
import { readStopReason as readIncomplete } from "../../extproc/translate/responses/stop-reason.ts";
import { code, markdownTable } from "../support/documents/markdown-table.ts";

const STOP_REASONS = [
  "end_turn",
  "stop_sequence",
  "max_tokens",
  "model_context_window_exceeded",
  "tool_use",
  "refusal",
  "pause_turn",
  "compaction",
  "something new",
];
const FINISH_REASONS = [
  "stop",
  "length",
  "tool_calls",
  "function_call",
  "content_filter",
  "MAX_TOKENS",
  "model_length",
  "SAFETY",
  "sensitive",
  "content_filter: RECITATION",
  "error",
  "abort",
  "network_error",
  "function_call_filter: MALFORMED_FUNCTION_CALL",
  "insufficient_system_resource",
  "something new",
];
const CLIENTS = ["chat", "messages"] as const satisfies readonly Dialect[];
const INCOMPLETE_REASONS = ["max_output_tokens", "content_filter", "something new", null];
const UPSTREAM_STATUSES = [400, 401, 402, 403, 404, 405, 408, 409, 413, 422, 429, 500, 502, 503, 504, 529];

/** Messages' stop reasons for a chat client. */
export function finishTable(): string {
  const rows = STOP_REASONS.map((stopReason) => {
    const finish = (hasCalls: boolean) => code(writeFinishReason(readStopReason(stopReason), { hasCalls, isLegacy: false }));
    return [code(stopReason), finish(false), finish(true)];
  });
  return markdownTable(["The upstream's `stop_reason`", "`finish_reason` without tool calls", "with tool calls"], rows);
}

/** Chat's finish reasons for a messages client. */
export function stopTable(): string {
  const rows = FINISH_REASONS.map((finishReason) => [
    code(finishReason),
    stopText(finishReason, false),
    stopText(finishReason, true),
  ]);
  return markdownTable(["The upstream's `finish_reason`", "`stop_reason` without tool calls", "with tool calls"], rows);
}

/** Why a response is incomplete, for clients of the other interfaces. */
export function incompleteTable(): string {
  const rows = INCOMPLETE_REASONS.map((incomplete) => {
    const reason = readIncomplete({ status: "incomplete", reason: incomplete, hasRefusal: false });
    const ending = { reason, stopSequence: null, explanation: null };
    const finish = writeFinishReason(reason, { hasCalls: false, isLegacy: false });
    return [incomplete === null ? "nothing" : code(incomplete), code(finish), code(writeStopReason(ending, false).stop_reason)];
  });
  return markdownTable(["The upstream's `incomplete_details.reason`", "`finish_reason`", "`stop_reason`"], rows);
}

function stopText(finishReason: string, hasTools: boolean): string {
  try {
    const ending = readFinishReason({ finishReason, matchedStop: null, stopSequences: [], hasRefusal: false });
    return code(writeStopReason(ending, hasTools).stop_reason);
  } catch (thrown) {
    return `the error ${code(toGatewayError(thrown).code)}`;
  }
}

/** Every error of the gateway's own, in both dialects. */
export function errorTable(): string {
  const rows = Object.entries(ERRORS).map(([name, { status, chat, messages }]) => [
    code(name),
    String(status),
    code(chat.type),
    code(String(chat.code)),
    code(messages.type),
  ]);
  return markdownTable(["Error", "Status", "chat `type`", "chat `code`", "messages `type`"], rows);
}

/** What a model server's own failure becomes. */
export function upstreamErrorTable(): string {
  const rows = UPSTREAM_STATUSES.map((status) => [String(status), ...CLIENTS.map((client) => failureText(status, client))]);
  return markdownTable(["Status of the server", "Chat or Responses client gets", "Messages client gets"], rows);
}

function failureText(status: number, client: Dialect): string {
  const body = Buffer.from(JSON.stringify({ error: { message: "why" } }));
  const error = readUpstreamError({ status, headers: new Map(), body, upstream: client, client });
  const encoded: { error: { type: string } } = JSON.parse(JSON.stringify(encodeError(client, error, "id")));
  return `${error.status} ${code(encoded.error.type)}${error.message === "why" ? ", the server's own text" : ""}`;
}
