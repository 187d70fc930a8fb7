import type { GatewayError } from "../../contract/errors.ts";
import { HEADERS } from "../../contract/headers.ts";
import type { Interface } from "../../contract/protocol.ts";
import { formatNanoUsd } from "../../ledger/money.ts";
import { addCost, withCost } from "./answer-cost.ts";
import { endOutcome } from "./answer-stream.ts";
import { withFinalResponse } from "./final-response.ts";
import type { Run } from "../meter/run.ts";
import type { Recording } from "../prompt-log/recording.ts";
import type { Redactor } from "../redactor.ts";
import * as reply from "../reply.ts";
import type { Reply } from "../reply.ts";
import type { AnswerTranslation } from "../translate/translation.ts";

export interface WholeAnswer {
  /** The model server's bytes, possibly compressed. */
  received: Buffer;
  /** The same, decompressed. */
  body: Buffer;
  /** The client waits for a stream, which is made from it. */
  asStream: boolean;
  client: Interface;
  wantsCost: boolean;
  translation: AnswerTranslation;
  run: Run;
  redactor: Redactor;
  /** The client's protocol's. */
  errorEvent(error: GatewayError): string;
  /** Receives a response that the client got; null if it is not to be stored. */
  keep: ((response: Buffer) => void) | null;
  /** Null unless it is recorded. */
  recording: Recording | null;
}

/** In the caller's protocol; nothing of it has gone to the client. */
export interface FinishedAnswer {
  readonly bytes: Buffer;
  /** They are the events of a stream. */
  readonly isStream: boolean;
  /** Settles the run. @returns the reply with the answer. */
  finish(): Reply;
}

/** A complete answer in the caller's protocol. @throws GatewayError if it is invalid. */
export function readWhole(answer: WholeAnswer): FinishedAnswer {
  const { received, body, asStream, client, wantsCost, translation, run, redactor, errorEvent, keep, recording } = answer;
  if (!asStream) {
    const response = translation.response(body, run.meter);
    return {
      bytes: response,
      isStream: false,
      finish() {
        run.settle("complete", 200);
        keep?.(response);
        const bytes = wantsCost ? addCost(response, client, run.costNanoUsd()) : response;
        recording?.answered(200, bytes);
        return reply.finishResponse(bytes === received ? "unchanged" : bytes, { set: costHeader(run) });
      },
    };
  }
  let final: Buffer | undefined;
  const redacted = redactor.stream(translation.stream(run.meter), errorEvent);
  const kept = keep === null ? redacted : withFinalResponse(redacted, (response) => void (final = response));
  const machine = wantsCost ? withCost(kept, client, run.costNanoUsd) : kept;
  const pushed = machine.push(body);
  const first = pushed === "unchanged" ? body : pushed;
  const bytes = Buffer.concat([first, machine.end()]);
  const failure = machine.failure();
  // SDKs try again after an error that has its status, and not after one within a stream.
  if (failure !== null && run.meter.outputBytes() === 0) throw failure;
  return {
    bytes,
    isStream: true,
    finish() {
      if (final !== undefined) keep?.(final);
      recording?.answered(200, bytes);
      run.noteOutput(first.length);
      run.settle(endOutcome(machine), 200);
      return reply.finishResponse(bytes, { set: { "content-type": "text/event-stream", ...costHeader(run) } });
    },
  };
}

/** What is charged. */
export function costHeader(run: Run): Readonly<Record<string, string>> {
  return { [HEADERS.cost]: formatNanoUsd(run.costNanoUsd()) };
}
