import type { GatewayError } from "../../contract/errors.ts";
import { endOutcome } from "./answer-stream.ts";
import { withFinalResponse } from "./final-response.ts";
import type { Run } from "../meter/run.ts";
import type { Redactor } from "../redactor.ts";
import * as reply from "../reply.ts";
import type { Reply } from "../reply.ts";
import type { AnswerTranslation } from "../translate/translation.ts";

export interface WholeAnswer {
  /** The model server's bytes, perhaps compressed. */
  received: Buffer;
  /** The same, decompressed. */
  body: Buffer;
  /** The client waits for a stream, which is made from it. */
  asStream: boolean;
  translation: AnswerTranslation;
  run: Run;
  redactor: Redactor;
  /** The client's protocol's. */
  errorEvent(error: GatewayError): string;
  /** Takes a response that the client got; null if it is not to be stored. */
  keep: ((response: Buffer) => void) | null;
}

/** An answer that came in one piece, in the caller's protocol; its run is settled. @throws GatewayError if it is none. */
export function finishWhole({ received, body, asStream, translation, run, redactor, errorEvent, keep }: WholeAnswer): Reply {
  if (!asStream) {
    const bytes = translation.response(body, run.meter);
    run.settle("complete", 200);
    keep?.(bytes);
    return reply.finishResponse(bytes === received ? "unchanged" : bytes, {});
  }
  const redacted = redactor.stream(translation.stream(run.meter), errorEvent);
  const machine = keep === null ? redacted : withFinalResponse(redacted, keep);
  const pushed = machine.push(body);
  const first = pushed === "unchanged" ? body : pushed;
  run.noteOutput(first.length);
  const bytes = Buffer.concat([first, machine.end()]);
  run.settle(endOutcome(machine), 200);
  return reply.finishResponse(bytes, { set: { "content-type": "text/event-stream" } });
}
