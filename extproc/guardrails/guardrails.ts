import type { Guardrail } from "../../contract/catalogue.ts";
import type { RelayTarget } from "../early-answers/relay.ts";
import type { Events } from "../events.ts";
import { callHook } from "./call.ts";
import { createCallSlots } from "./call-slots.ts";
import type { CheckedPart, CheckFailure } from "./outcome.ts";
import { readVerdict, type Verdict } from "./verdict.ts";

/**
 * Asks a Model's hook about the text of a request before a model server gets it, and about that of an answer before its client does
 * (docs/decisions/0081).
 */
export interface Guardrails {
  /** Never rejects. Also resolves when the client leaves. */
  check(request: CheckRequest): Promise<Judgement>;
}

export type Judgement =
  /** There is nothing against it, or no verdict, and the Model allows it then. */
  | { kind: "passed" }
  | Refused
  /** There is no verdict in time, and the Model does not allow it then. */
  | { kind: "unavailable" };

/** @member text number of the first text that is refused, from 0; null if the hook judged all at once. */
export type Refused = Extract<Verdict, { kind: "refused" }>;

interface CheckRequest {
  requestId: string;
  accountId: string;
  model: string;
  guardrail: Guardrail;
  part: CheckedPart;
  /** Their number. */
  texts: number;
  /** The body of the call (`encodeCheck`). */
  body: Buffer;
  /** The client has left. */
  left: AbortSignal;
}

export interface GuardrailsDeps {
  /** Null: this process cannot reach hooks, and lets nothing pass that is to be checked. */
  target: RelayTarget | null;
  events: Pick<Events, "guardrailChecked" | "guardrailFailed">;
  /** Monotonic. */
  clock: { nowMs(): number };
}

/** Of one hook and process. */
const MAX_OPEN_CALLS = 128;

type Checked = Exclude<Verdict, { kind: "unreadable" }> | { kind: "failed"; failure: CheckFailure; status: number | null };

/** Of the text in one check, as the hook gets it: more than a million tokens. */
export const MAX_CHECKED_BYTES = 8 * 1024 * 1024;

/**
 * In the form of OpenAI's moderations, and in UTF-8 that every hook can read: half a surrogate pair would be a way around it.
 * @returns null for more than a check may have.
 */
export function encodeCheck({ model }: Guardrail, texts: readonly string[]): Buffer | null {
  // JSON has six characters for some: packed text of a few megabytes would become hundreds.
  if (texts.reduce((sum, { length }) => sum + length, 0) > MAX_CHECKED_BYTES) return null;
  const input = texts.map((text) => text.toWellFormed());
  const body = Buffer.from(JSON.stringify(model === undefined ? { input } : { model, input }));
  return body.length > MAX_CHECKED_BYTES ? null : body;
}

export function createGuardrails({ target, events, clock }: GuardrailsDeps): Guardrails {
  const slots = createCallSlots({ maxOpen: MAX_OPEN_CALLS });

  return {
    async check(request) {
      const { requestId, model, guardrail, part, left } = request;
      const startedMs = clock.nowMs();
      const checked = target === null ? UNREACHABLE : await ask(request, { target, slots });
      if (left.aborted) return PASSED;
      const durationMs = clock.nowMs() - startedMs;
      switch (checked.kind) {
        case "allowed":
          events.guardrailChecked({ model, part, result: "allowed", durationMs });
          return PASSED;
        case "refused":
          events.guardrailChecked({ model, part, result: "refused", durationMs });
          return checked;
        case "failed": {
          const isAllowed = guardrail.onFailure === "allow" && target !== null;
          events.guardrailFailed({ requestId, model, part, failure: checked.failure, hookStatus: checked.status, isAllowed });
          events.guardrailChecked({ model, part, result: isAllowed ? "failed_allowed" : "failed_refused", durationMs });
          return isAllowed ? PASSED : { kind: "unavailable" };
        }
      }
    },
  };
}

const PASSED: Judgement = { kind: "passed" };
const UNREACHABLE: Checked = { kind: "failed", failure: "unreachable", status: null };

/** Ends by the Model's timeout, which counts the wait for a slot. */
async function ask(
  { accountId, guardrail, texts, body, left }: CheckRequest,
  { target, slots }: { target: RelayTarget; slots: ReturnType<typeof createCallSlots> },
): Promise<Checked> {
  const { cluster, path, timeoutMs } = guardrail;
  const ended = AbortSignal.any([left, AbortSignal.timeout(timeoutMs)]);
  const { promise: turn, resolve } = Promise.withResolvers<void>();
  let isOpen = false;
  const leave = slots.enter(cluster, accountId, () => {
    isOpen = true;
    resolve();
  });
  const stopWaiting = () => resolve();
  ended.addEventListener("abort", stopWaiting);
  try {
    await turn;
    if (!isOpen) return { kind: "failed", failure: "busy", status: null };
    const call = { target, cluster, path, body, signal: ended };
    const first = await callHook(call);
    // A connection that the hook was just closing. Asking twice costs nobody anything.
    const isLost = first.kind === "failed" && (first.failure === "unreachable" || first.failure === "broken");
    const answer = isLost && !ended.aborted ? await callHook(call) : first;
    if (answer.kind === "failed") return ended.aborted ? { ...answer, failure: "timeout" } : answer;
    const verdict = readVerdict(answer.body, texts);
    return verdict.kind === "unreadable" ? { kind: "failed", failure: "unreadable", status: 200 } : verdict;
  } finally {
    ended.removeEventListener("abort", stopWaiting);
    leave();
  }
}
