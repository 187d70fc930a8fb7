import type { GatewayError } from "../../contract/errors.ts";
import { HEADERS } from "../../contract/headers.ts";
import type { Interface } from "../../contract/protocol.ts";
import { formatNanoUsd } from "../../ledger/money.ts";
import { addCost, withCost } from "./answer-cost.ts";
import { endOutcome } from "./answer-stream.ts";
import { withFinalResponse } from "./final-response.ts";
import type { Run } from "../meter/run.ts";
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
}

/** A complete answer in the caller's protocol; its run is settled. @throws GatewayError if it is invalid. */
export function finishWhole(answer: WholeAnswer): Reply {
  const { received, body, asStream, client, wantsCost, translation, run, redactor, errorEvent, keep } = answer;
  if (!asStream) {
    const response = translation.response(body, run.meter);
    run.settle("complete", 200);
    keep?.(response);
    const bytes = wantsCost ? addCost(response, client, run.costNanoUsd()) : response;
    return reply.finishResponse(bytes === received ? "unchanged" : bytes, { set: costHeader(run) });
  }
  const redacted = redactor.stream(translation.stream(run.meter), errorEvent);
  const kept = keep === null ? redacted : withFinalResponse(redacted, keep);
  const machine = wantsCost ? withCost(kept, client, run.costNanoUsd) : kept;
  const pushed = machine.push(body);
  const first = pushed === "unchanged" ? body : pushed;
  run.noteOutput(first.length);
  const bytes = Buffer.concat([first, machine.end()]);
  run.settle(endOutcome(machine), 200);
  return reply.finishResponse(bytes, { set: { "content-type": "text/event-stream", ...costHeader(run) } });
}

/** What is charged. */
export function costHeader(run: Run): Readonly<Record<string, string>> {
  return { [HEADERS.cost]: formatNanoUsd(run.costNanoUsd()) };
}
