import type { GatewayError } from "../../../contract/errors.ts";
import { encodeSseEvent } from "../sse.ts";
import type { OutputItem, OutputPart, SummaryPart, UrlCitation } from "./output-item.ts";
import { encodeResponse, errorMembers, type ResponseHead, type ResponseState } from "./response.ts";

/** Position in the output to which an event belongs. */
interface ItemPosition {
  item_id: string;
  output_index: number;
}

/** The events of a Responses stream about parts of the output, in wire form except for their number. */
export type PartEvent =
  | { type: "response.output_item.added" | "response.output_item.done"; output_index: number; item: OutputItem }
  | (ItemPosition & {
      type: "response.content_part.added" | "response.content_part.done";
      content_index: number;
      part: OutputPart;
    })
  | (ItemPosition & { type: "response.output_text.delta"; content_index: number; delta: string; logprobs: [] })
  | (ItemPosition & { type: "response.output_text.done"; content_index: number; text: string; logprobs: [] })
  | (ItemPosition & {
      type: "response.output_text.annotation.added";
      content_index: number;
      annotation_index: number;
      annotation: UrlCitation;
    })
  | (ItemPosition & { type: "response.refusal.delta"; content_index: number; delta: string })
  | (ItemPosition & { type: "response.refusal.done"; content_index: number; refusal: string })
  | (ItemPosition & {
      type: "response.reasoning_summary_part.added" | "response.reasoning_summary_part.done";
      summary_index: number;
      part: SummaryPart;
    })
  | (ItemPosition & { type: "response.reasoning_summary_text.delta"; summary_index: number; delta: string })
  | (ItemPosition & { type: "response.reasoning_summary_text.done"; summary_index: number; text: string })
  | (ItemPosition & { type: "response.function_call_arguments.delta"; delta: string })
  | (ItemPosition & { type: "response.function_call_arguments.done"; name: string; arguments: string })
  | (ItemPosition & { type: "response.custom_tool_call_input.delta"; delta: string })
  | (ItemPosition & { type: "response.custom_tool_call_input.done"; input: string });

export interface EventEncoder {
  part(event: PartEvent): string;
  /** `response.created` and similar events: the whole response so far. */
  response(name: "created" | ResponseState["status"], state: ResponseState, output: readonly OutputItem[]): string;
  error(error: GatewayError): string;
}

/** For an answer that is not streamed: its text stands in six events of a stream, each of which is as long as the answer. */
export const NO_EVENTS: EventEncoder = { part: () => "", response: () => "", error: () => "" };

/** Writes one stream: SDKs dispatch on the type in the data, and count on rising numbers. */
export function createEventEncoder(head: ResponseHead): EventEncoder {
  let next = 0;
  const number = () => (next += 1) - 1;

  return {
    part: ({ type, ...members }) => encodeSseEvent(type, JSON.stringify({ type, sequence_number: number(), ...members })),
    response(name, state, output) {
      const type = `response.${name}`;
      const response = encodeResponse(head, state, output);
      return encodeSseEvent(type, `{"type":"${type}","sequence_number":${number()},"response":${response}}`);
    },
    error(error) {
      const data = { type: "error", sequence_number: number(), ...errorMembers(error) };
      return encodeSseEvent("error", JSON.stringify(data));
    },
  };
}
