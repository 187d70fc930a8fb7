import { toGatewayError } from "../../contract/errors.ts";
import { HELD_ANSWER_METADATA } from "../../contract/held-answer.ts";
import { MAX_REQUEST_BYTES } from "../../contract/headers.ts";
import { readLength } from "../headers.ts";
import { createAnswerRoom, type AnswerRoom } from "../load/answer-room.ts";
import * as reply from "../reply.ts";
import type { Reply } from "../reply.ts";
import type { ExchangeContext } from "./context.ts";
import { answerRefusal, encodeRefusal, reasonOf } from "./refusal.ts";
import { refuse } from "./refuse.ts";

const METADATA = { [HELD_ANSWER_METADATA.key]: "1" };

/**
 * The headers of an answer have come that Envoy holds until its end. One that states its length gets all its room now; what comes
 * of another is measured as it comes.
 * @param awaiting lets Envoy go on.
 * @returns that reply, or the refusal of an answer for which there is no room.
 */
export function holdAnswer(context: ExchangeContext, headers: ReadonlyMap<string, string>, awaiting: Reply): Reply {
  const { deps, requestId } = context;
  const room = createAnswerRoom({
    reserve: (bytes) => context.heldBytes?.reserve(context.requestBytes + bytes),
    onLate: (error) => context.push(refuse(context, error)),
  });
  const over = () => {
    room.over();
    deps.heldAnswers.forget(requestId);
  };
  context.heldAnswer = { over };
  context.closers.push(over);
  const length = readLength(headers);
  // Envoy holds no more than that, and refuses the rest.
  if (length !== null) return grow(context, room, Math.min(length, MAX_REQUEST_BYTES)) ?? awaiting;
  deps.heldAnswers.watch(requestId, (bytes) => {
    const refusal = grow(context, room, bytes);
    if (refusal !== null) context.push(refusal);
  });
  return reply.withMetadata(awaiting, HELD_ANSWER_METADATA.namespace, METADATA);
}

/** @returns null if there is room. */
function grow(context: ExchangeContext, room: AnswerRoom, bytes: number): Reply | null {
  try {
    room.grow(bytes);
    return null;
  } catch (thrown) {
    context.heldAnswer?.over();
    return refuseForRoom(context, thrown, bytes);
  }
}

/** The load's fault and not the model server's, whose record stays clean. */
function refuseForRoom(context: ExchangeContext, thrown: unknown, bytes: number): Reply {
  const { deps, forwarded, protocol, requestId } = context;
  if (forwarded === undefined) return refuse(context, thrown);
  const { run, deadlines } = forwarded;
  const error = toGatewayError(thrown);
  context.errorCode = error.code;
  deps.events.answerRefused({ requestId, model: run.model.name, backend: run.backend().name, bytes, code: error.code });
  deadlines.over();
  run.settle("failed", error.status);
  return answerRefusal(context, encodeRefusal(protocol, error, requestId, reasonOf(forwarded)));
}
