import type { Recording } from "../prompt-log/recording.ts";
import type { ExchangeContext } from "./context.ts";
import type { Admitted } from "./phase.ts";

/** Begins to record the prompt and its answer. Counts of tokens are no answers. */
export function record(context: ExchangeContext, { caller, endpoint }: Admitted, body: Buffer): void {
  if (endpoint.kind !== "generate") return;
  const { deps, requestId, startedMs, protocol } = context;
  const { accountId } = caller.account;
  const keyId = caller.key.publicId;
  const isForm = endpoint.form !== undefined;
  const recording = deps.promptLog.begin({ accountId, keyId, requestId, startedMs, interface: protocol, isForm, body });
  if (recording === null) return;
  context.recording = recording;
  context.closers.push(() => close(context, recording));
}

function close({ forwarded }: ExchangeContext, recording: Recording): void {
  if (forwarded?.answer?.kind !== "stream") return recording.close(false);
  const { stream } = forwarded.answer;
  const outcome = stream.outcome();
  if (forwarded.dispatch.translation().speech?.kind !== "sound") return recording.close(outcome === "open");
  recording.played(stream.receivedBytes());
  // It has no place for an error: a client whose sound fails is cut off.
  recording.close(outcome !== "complete");
}
