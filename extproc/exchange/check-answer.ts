import { GatewayError } from "../../contract/errors.ts";
import { formatNanoUsd } from "../../ledger/money.ts";
import { readChecked } from "../guardrails/answer-pieces.ts";
import { createAnswerTexts } from "../guardrails/answer-texts.ts";
import { encodeCheck, MAX_CHECKED_BYTES, type Judgement } from "../guardrails/guardrails.ts";
import { answerRefused, guardrailUnavailable } from "../guardrails/refusals.ts";
import { withoutMark } from "../protocol/body-sniffer.ts";
import { createSseParser } from "../protocol/sse.ts";
import type { Reply } from "../reply.ts";
import { charged } from "./charged.ts";
import type { ExchangeContext, Forwarded } from "./context.ts";
import { answerRefusal, encodeRefusal, reasonOf } from "./refusal.ts";
import { noteFailure } from "./refuse.ts";
import { costHeader, type FinishedAnswer } from "./whole-answer.ts";

interface Question {
  run: Forwarded["run"];
  texts: readonly string[];
  left: AbortSignal;
}

/** @throws GatewayError `upstream_error` for more text than a check may have. */
export function askAboutAnswer(
  { deps, requestId, caller }: ExchangeContext,
  { run, texts, left }: Question,
): { judgement: Promise<Judgement>; bytes: number } {
  const { guardrail, name: model } = run.model;
  const accountId = caller?.account.accountId;
  if (guardrail === undefined || accountId === undefined) throw new Error("an answer without a guardrail is not checked");
  const body = encodeCheck(guardrail, texts);
  if (body === null)
    throw new GatewayError(
      "upstream_error",
      `This model's answers are checked, and this one has more than ${MAX_CHECKED_BYTES / 1024 / 1024} MiB of text at once.`,
    );
  const asked = { requestId, accountId, model, guardrail, part: "answer", texts: texts.length, body, left } as const;
  return { judgement: deps.guardrails.check(asked), bytes: body.length };
}

/**
 * A complete answer that the client gets once its Model's hook has seen it.
 * @returns undefined if the reply is pushed later.
 * @throws GatewayError for an answer that cannot be checked.
 */
export function passChecked(context: ExchangeContext, forwarded: Forwarded, answer: FinishedAnswer): Reply | undefined {
  const { run } = forwarded;
  if (run.model.guardrail?.answers === undefined) return answer.finish();
  const texts = textsIn(answer);
  if (texts.length === 0) return answer.finish();
  const left = new AbortController();
  context.closers.push(() => left.abort());
  run.judge();
  const { judgement, bytes } = askAboutAnswer(context, { run, texts, left: left.signal });
  context.heldBytes?.resize(context.requestBytes + answer.bytes.length + bytes);
  void pushWhenJudged(context, forwarded, { answer, judgement });
  return undefined;
}

async function pushWhenJudged(
  context: ExchangeContext,
  forwarded: Forwarded,
  { answer, judgement }: { answer: FinishedAnswer; judgement: Promise<Judgement> },
): Promise<void> {
  const judged = await judgement;
  if (context.client.aborted) return;
  context.heldBytes?.resize(context.requestBytes + answer.bytes.length);
  charged(context, () => context.push(finish(context, forwarded, { answer, judged })));
}

/** A stream that is sent as a whole has its text in events. */
function textsIn({ bytes, isStream }: FinishedAnswer): string[] {
  const texts = createAnswerTexts();
  if (!isStream) {
    const json = readChecked(withoutMark(bytes).toString("utf8"));
    if (json !== null) texts.add(json);
    return texts.take();
  }
  const parser = createSseParser();
  for (const { data } of [...parser.push(bytes), ...parser.end()]) {
    const json = readChecked(data);
    if (json !== null) texts.add(json);
  }
  return texts.take();
}

function finish(
  context: ExchangeContext,
  forwarded: Forwarded,
  { answer, judged }: { answer: FinishedAnswer; judged: Judgement },
): Reply {
  const { run } = forwarded;
  try {
    switch (judged.kind) {
      case "passed":
        return answer.finish();
      case "refused":
        run.refuse();
        return stop(context, forwarded, answerRefused(judged, formatNanoUsd(run.costNanoUsd())));
      case "unavailable": {
        const error = guardrailUnavailable("answer");
        run.settle("failed", error.status);
        return stop(context, forwarded, error);
      }
    }
  } catch (thrown) {
    return refuseAnswer(context, forwarded, noteFailure(context, thrown));
  }
}

/** The guardrail's doing and not the model server's, whose record stays clean. */
function stop(context: ExchangeContext, forwarded: Forwarded, error: GatewayError): Reply {
  const { deps, requestId } = context;
  const { run } = forwarded;
  context.errorCode = error.code;
  deps.events.answerStopped({ requestId, model: run.model.name, backend: run.backend().name, code: error.code });
  return refuseAnswer(context, forwarded, error);
}

function refuseAnswer(context: ExchangeContext, forwarded: Forwarded, error: GatewayError): Reply {
  const refusal = encodeRefusal(context.protocol, error, context.requestId, reasonOf(forwarded));
  return answerRefusal(context, { ...refusal, headers: { ...refusal.headers, ...costHeader(forwarded.run) } });
}
