import { GatewayError } from "../../../contract/errors.ts";
import type { Usage } from "../../../contract/usage.ts";
import type { AnswerEvent } from "../../protocol/messages/answer-event.ts";
import { createEventEncoder, type PartEvent } from "../../protocol/responses/event.ts";
import { encodeResponse, type ResponseHead, type ResponseState } from "../../protocol/responses/response.ts";
import { createAnswerUnwrapper } from "../chat-via-messages/answer-tool.ts";
import { createBlocks } from "./blocks.ts";
import { limitOf } from "./finish.ts";
import { openRefusal } from "./open-item.ts";
import { createOutput } from "./output.ts";
import type { AnswerFacts } from "./request.ts";

/** Turns a message's events into a Responses stream, event by event. Its text is what a client of a stream gets. */
export interface AnswerMachine {
  accept(event: AnswerEvent): string;
  fail(error: GatewayError): string;
  hasEnded(): boolean;
  /** The whole response: what the stream's last event has. @throws GatewayError what the answer failed with. */
  response(): Buffer;
}

export interface MachineFacts {
  facts: AnswerFacts;
  requestId: string;
  nowSeconds: number;
  /** What is charged, as far as it is known (S28). */
  usage(): Usage;
}

export function createAnswerMachine({ facts, requestId, nowSeconds, usage }: MachineFacts): AnswerMachine {
  const serial = requestId.replaceAll("-", "");
  const head: ResponseHead = { id: `resp_${serial}`, created: nowSeconds, model: facts.model, echoed: facts.echoed };
  const encoder = createEventEncoder(head);
  const output = createOutput(serial);
  const blocks = createBlocks({ facts, requestId, output });
  const unwrap = facts.answerTool === null ? null : createAnswerUnwrapper(facts.answerTool);
  let stop: Pick<Extract<AnswerEvent, { type: "message_delta" }>, "stopReason" | "explanation"> | undefined;
  let isStarted = false;
  let end: ResponseState | undefined;

  function accept(event: AnswerEvent): string {
    return unwrap === null ? step(event) : unwrap(event).map(step).join("");
  }

  function step(event: AnswerEvent): string {
    if (end !== undefined) return "";
    switch (event.type) {
      case "message_start":
        return opening();
      case "content_block_start":
        return opening() + write(blocks.start(event.index, event.block));
      case "content_block_delta":
        return opening() + write(blocks.add(event.index, event.delta));
      case "content_block_stop":
        return opening() + write(blocks.stop(event.index));
      case "message_delta":
        // A later delta may only bring usage.
        if (event.stopReason !== null || stop === undefined) stop = event;
        return opening();
      case "message_stop":
        return opening() + finish();
      case "ping":
        return ": ping\n\n";
      case "error":
        return fail(event.error);
    }
  }

  /** Servers that leave message_start out still get a stream that begins as it must. */
  function opening(): string {
    if (isStarted) return "";
    isStarted = true;
    const state = { status: "in_progress" } as const;
    return encoder.response("created", state, []) + encoder.response("in_progress", state, []);
  }

  function finish(): string {
    const reason = limitOf(stop?.stopReason ?? null);
    const closed = [...blocks.stopAll(), ...output.close(reason !== null)];
    const explained = reason === "content_filter" && output.isEmpty() ? explain(stop?.explanation ?? "") : [];
    end = reason === null ? { status: "completed", usage: usage() } : { status: "incomplete", reason, usage: usage() };
    return write([...closed, ...explained]) + encoder.response(end.status, end, output.items());
  }

  /** Why the model says nothing, where it says why. */
  function explain(explanation: string): PartEvent[] {
    if (explanation === "") return [];
    const { events } = output.open("msg", (place) => openRefusal(place, explanation));
    return [...events, ...output.close(false)];
  }

  /** The error event for clients that read events, the failed response for those that wait for one (S22). */
  function fail(error: GatewayError): string {
    if (end !== undefined) return "";
    const opened = opening();
    end = { status: "failed", error };
    return opened + encoder.error(error) + encoder.response("failed", end, output.items());
  }

  function write(events: readonly PartEvent[]): string {
    return events.map(encoder.part).join("");
  }

  return {
    accept,
    fail,
    hasEnded: () => end !== undefined,
    response() {
      if (end === undefined)
        throw new GatewayError("upstream_error", "The model server's answer ended before it was complete. Try again.");
      if (end.status === "failed") throw end.error;
      return Buffer.from(encodeResponse(head, end, output.items()));
    },
  };
}
