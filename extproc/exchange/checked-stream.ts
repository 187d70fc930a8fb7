import type { AnswerWindow } from "../../contract/catalogue.ts";
import { isInputInterface } from "../../contract/protocol.ts";
import { createAnswerGate } from "../guardrails/answer-gate.ts";
import type { Judgement } from "../guardrails/guardrails.ts";
import { explainRefusal, guardrailUnavailable } from "../guardrails/refusals.ts";
import { createShownAnswer } from "../guardrails/shown-answer.ts";
import { addCostToEvents } from "./answer-cost.ts";
import { charged } from "./charged.ts";
import { askAboutAnswer } from "./check-answer.ts";
import type { CheckedOutlet, CheckedStream, StreamCheck } from "./stream-check.ts";
import type { ExchangeContext, Forwarded } from "./context.ts";

/** An event in memory: its bytes, its text, and what was read of it. */
const COPIES = 4;
/** A server that is faster than its hook waits. */
const FULL_BYTES = 1024 * 1024;

/** Null if the Model's answers are not checked. */
export function streamCheck(context: ExchangeContext, { run, deadlines, keep }: Forwarded): StreamCheck | null {
  const { protocol: client, requestId, wantsUsage } = context;
  const window = run.model.guardrail?.answers;
  if (window === undefined || isInputInterface(client)) return null;
  let kept: Buffer | undefined;
  const shown = createShownAnswer(client, { requestId, model: run.model.name, wantsUsage });
  return {
    keep: keep === null ? null : (response) => void (kept = response),
    open: (outlet) =>
      openGate(context, {
        outlet,
        window,
        shown,
        run,
        deadlines,
        onPassed() {
          if (kept !== undefined) keep?.(kept);
        },
      }),
  };
}

interface Open {
  outlet: CheckedOutlet;
  window: AnswerWindow;
  shown: ReturnType<typeof createShownAnswer>;
  run: Forwarded["run"];
  deadlines: Forwarded["deadlines"];
  onPassed(): void;
}

function openGate(context: ExchangeContext, { outlet, window, shown, run, deadlines, onPassed }: Open): CheckedStream {
  const { requestId, deps, flow, protocol: client } = context;
  const left = new AbortController();
  let isPaused = false;
  run.judge();

  function stop(judgement: Exclude<Judgement, { kind: "passed" }>): void {
    const stopped = { requestId, model: run.model.name, backend: run.backend().name };
    if (judgement.kind === "refused") {
      context.errorCode = "content_refused";
      deps.events.answerStopped({ ...stopped, code: context.errorCode });
      run.refuse();
      const ending = Buffer.from(shown.refused(run.settlement()?.usage ?? run.meter.final().usage, explainRefusal(judgement)));
      outlet.stop(context.wantsCost ? addCostToEvents(ending, client, run.costNanoUsd) : ending);
      return;
    }
    const error = guardrailUnavailable("answer");
    context.errorCode = error.code;
    deps.events.answerStopped({ ...stopped, code: error.code });
    run.settle("failed", 200);
    outlet.stop(Buffer.from(shown.failed(error)));
  }

  const gate = createAnswerGate({
    window,
    shown,
    check: (texts) => askAboutAnswer(context, { run, texts, left: left.signal }).judgement,
    release(events) {
      outlet.send(events);
      limitFlow();
    },
    stop,
    fail: outlet.fail,
    run: (work) => charged(context, work),
  });

  function limitFlow(): void {
    const isFull = gate.heldBytes() > FULL_BYTES;
    if (isFull === isPaused) return;
    isPaused = isFull;
    deadlines.held(isFull);
    if (isFull) flow.pause();
    else flow.resume();
  }

  function close(): void {
    gate.close();
    left.abort();
    limitFlow();
  }

  return {
    take(events) {
      gate.take(events);
      limitFlow();
    },
    end: (passed) =>
      gate.end(() => {
        onPassed();
        passed();
      }),
    failed(error) {
      close();
      return Buffer.from(shown.failed(error));
    },
    heldBytes: () => COPIES * gate.heldBytes(),
    close,
  };
}
