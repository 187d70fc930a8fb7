import type { AnswerMessage, Delta, ReasoningDetail, ToolCall, UrlCitation } from "../../protocol/chat/encode.ts";

/** The message that a client would assemble from a stream's deltas. */
export interface MessageSum {
  add(delta: Delta): void;
  message(): AnswerMessage;
}

export function createMessageSum(): MessageSum {
  let content = "";
  let refusal: string | null = null;
  let reasoning = "";
  const details: ReasoningDetail[] = [];
  const annotations: UrlCitation[] = [];
  const calls: ToolCall[] = [];
  let functionCall: { name: string; arguments: string } | undefined;

  function add(delta: Delta): void {
    content += delta.content ?? "";
    if (delta.refusal !== undefined) refusal = (refusal ?? "") + delta.refusal;
    reasoning += delta.reasoning_content ?? "";
    for (const detail of delta.reasoning_details ?? []) details.push(detail);
    for (const annotation of delta.annotations ?? []) annotations.push(annotation);
    for (const call of delta.tool_calls ?? []) addCall(call);
    if (delta.function_call !== undefined) {
      functionCall ??= { name: delta.function_call.name ?? "", arguments: "" };
      functionCall.arguments += delta.function_call.arguments;
    }
  }

  function addCall(call: NonNullable<Delta["tool_calls"]>[number]): void {
    const { index, ...rest } = call;
    const known = calls[index];
    if ("custom" in rest) calls[index] = rest;
    else if (known?.type === "function") known.function.arguments += rest.function.arguments;
    else if (rest.id !== undefined)
      calls[index] = {
        id: rest.id,
        type: "function",
        function: { name: rest.function.name ?? "", arguments: rest.function.arguments },
      };
  }

  function message(): AnswerMessage {
    const hasCalls = calls.length > 0 || functionCall !== undefined;
    return {
      role: "assistant",
      content: content === "" && (hasCalls || refusal !== null) ? null : content,
      refusal,
      ...(reasoning === "" ? {} : { reasoning_content: reasoning }),
      ...(details.length > 0 && { reasoning_details: details }),
      ...(annotations.length > 0 && { annotations }),
      function_call: functionCall,
      ...(calls.length > 0 && { tool_calls: calls }),
    };
  }

  return { add, message };
}
