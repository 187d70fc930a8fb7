import type { Guardrail } from "../../contract/catalogue.ts";
import { GatewayError } from "../../contract/errors.ts";
import type { RelayTarget } from "../early-answers/relay.ts";
import type { Events } from "../events.ts";
import { callHook } from "./call.ts";
import { createCallSlots } from "./call-slots.ts";
import type { CheckFailure } from "./outcome.ts";
import type { CheckedText } from "./texts.ts";
import { readVerdict, type Verdict } from "./verdict.ts";

/** Asks a Model's hook about the text of a request before a model server gets it (docs/decisions/0081). */
export interface Guardrails {
  /**
   * Also resolves when the client leaves.
   * @throws GatewayError `content_refused` if the hook refuses a text; `guardrail_unavailable` if there is no answer in time and
   * the Model does not allow requests then.
   */
  check(request: CheckRequest): Promise<void>;
}

interface CheckRequest {
  requestId: string;
  accountId: string;
  model: string;
  guardrail: Guardrail;
  /** The place of each text in the request. */
  fields: readonly string[];
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

/** In the form of OpenAI's moderations, and in UTF-8 that every hook can read: half a surrogate pair would be a way around it. */
export function encodeCheck({ model }: Guardrail, texts: readonly CheckedText[]): Buffer {
  const input = texts.map(({ text }) => text.toWellFormed());
  return Buffer.from(JSON.stringify(model === undefined ? { input } : { model, input }));
}

export function createGuardrails({ target, events, clock }: GuardrailsDeps): Guardrails {
  const slots = createCallSlots({ maxOpen: MAX_OPEN_CALLS });

  return {
    async check(request) {
      const { requestId, model, guardrail, fields, left } = request;
      const startedMs = clock.nowMs();
      const checked = target === null ? UNREACHABLE : await ask(request, { target, slots });
      if (left.aborted) return;
      const durationMs = clock.nowMs() - startedMs;
      switch (checked.kind) {
        case "allowed":
          return events.guardrailChecked({ model, result: "allowed", durationMs });
        case "refused":
          events.guardrailChecked({ model, result: "refused", durationMs });
          throw refusal(checked, fields);
        case "failed": {
          const isAllowed = guardrail.onFailure === "allow" && target !== null;
          events.guardrailFailed({ requestId, model, failure: checked.failure, hookStatus: checked.status, isAllowed });
          events.guardrailChecked({ model, result: isAllowed ? "failed_allowed" : "failed_refused", durationMs });
          if (!isAllowed) throw unavailable();
        }
      }
    },
  };
}

const UNREACHABLE: Checked = { kind: "failed", failure: "unreachable", status: null };

/** Ends by the Model's timeout, which counts the wait for a slot. */
async function ask(
  { accountId, guardrail, fields, body, left }: CheckRequest,
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
    const verdict = readVerdict(answer.body, fields.length);
    return verdict.kind === "unreadable" ? { kind: "failed", failure: "unreadable", status: 200 } : verdict;
  } finally {
    ended.removeEventListener("abort", stopWaiting);
    leave();
  }
}

function refusal({ text, categories }: Extract<Verdict, { kind: "refused" }>, fields: readonly string[]): GatewayError {
  const reason = categories.length === 0 ? "" : ` (${categories.join(", ")})`;
  const field = text === null ? undefined : fields[text];
  const where = field === undefined ? "The request" : `\`${field}\``;
  return new GatewayError(
    "content_refused",
    `${where} was refused by the content check of this model${reason}. Nothing was charged. Change the text and send the request again.`,
    { details: { code: "content_policy_violation" }, ...(field === undefined ? {} : { field }) },
  );
}

function unavailable(): GatewayError {
  return new GatewayError(
    "guardrail_unavailable",
    "This model's requests are checked before they are answered, and the check is not available right now. Nothing was charged. Try again in a moment.",
    { headers: { "retry-after": "2" } },
  );
}
