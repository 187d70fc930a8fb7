import type { Backend } from "../../contract/catalogue.ts";
import type { GatewayError } from "../../contract/errors.ts";
import { HELD_BODY } from "../../contract/held-body.ts";
import { isInputInterface, type Interface } from "../../contract/protocol.ts";
import { attemptsChanges, requestChanges, type EarlyRelay } from "../headers.ts";
import * as reply from "../reply.ts";
import type { Reply } from "../reply.ts";
import { affinityOf } from "../route/affinity.ts";
import type { BackendHealth } from "../route/backend-health.ts";
import { chooseBackend } from "../route/choose-backend.ts";
import { orderBackends } from "../route/order-backends.ts";
import { createTranslation } from "../translate/choose.ts";
import type { AnswerTranslation, Translation, TranslationInput } from "../translate/translation.ts";
import { startAttempts, withTried, type AttemptsDeps, type SentRequest } from "./attempts.ts";
import type { OpenAttempts } from "./open-attempts.ts";

/** How a request is sent to its Model's servers: directly to the only one, or to several, one after the other. */
export interface Dispatch {
  /** The one that answers; before that, the one that is tried first. */
  backend(): Backend;
  translation(): AnswerTranslation;
  /** Each attempt measures its server's time to the first byte. */
  readonly isByAttempt: boolean;
  /** Why there is no server's answer; null if there is one. */
  failure(): GatewayError | null;
  /** Sends the request on: Envoy's next step. */
  forward(): Reply;
  /** The error as the client reads it. */
  described(error: GatewayError): GatewayError;
  close(): void;
}

export interface DispatchPlan extends Omit<TranslationInput, "backend"> {
  client: Interface;
  /** The body as Envoy buffers it. The sent body may include more: a response that it refers to is read from the store. */
  received: Buffer;
  wantsStream: boolean;
  /** Public id of the caller's key. */
  keyId: string;
  /** Null: the answer begins when the model server begins it. */
  early: EarlyRelay | null;
}

export interface DispatchDeps extends AttemptsDeps {
  health: BackendHealth;
  openAttempts: Pick<OpenAttempts, "add" | "remove">;
  /** Number of this process among those of one Envoy. */
  worker: number;
  random(): number;
}

/** @throws GatewayError if no backend is available, or none of their protocols can express the request. */
export function planDispatch(plan: DispatchPlan, deps: DispatchDeps): Dispatch {
  const isChoice = plan.model.backends.filter(({ weight }) => weight > 0).length > 1;
  if (isChoice) return throughSeveral(plan, deps);
  const backend = chooseBackend(plan.model.backends, deps.random());
  const translated = createTranslation(plan.client, { ...plan, backend });
  const isHeld = translated.upstream.body.length <= heldBytes(plan.received.length);
  // An attempt has room for its own body, but not for the client's.
  return isHeld ? straight(plan, { backend, translated }) : throughSeveral(plan, deps);
}

/** Envoy replaces a body only up to this length: its limit was chosen by the client's body (operator/bootstrap/buffers.ts). */
function heldBytes(receivedBytes: number): number {
  return Math.max(HELD_BODY.minBytes, receivedBytes + HELD_BODY.slackBytes);
}

/** Without a detour: most Models have one backend. */
function straight(plan: DispatchPlan, { backend, translated }: { backend: Backend; translated: Translation }): Dispatch {
  // The closures below live as long as the answer, and would retain the prompt with the plan.
  const { headers, model, requestId, early } = plan;
  const { upstream, ...translation } = translated;
  // Released once it is sent: a prompt is large, and its answer may take minutes.
  let unsent: SentRequest | undefined = { upstream, isAsReceived: upstream.body === plan.received };
  return {
    backend: () => backend,
    translation: () => translation,
    isByAttempt: false,
    failure: () => null,
    forward() {
      if (unsent === undefined) throw new Error("a request is sent once");
      const { upstream, isAsReceived } = unsent;
      unsent = undefined;
      const changes = requestChanges({
        headers,
        backend,
        upstream,
        requestId,
        isTimed: model.timeouts !== undefined,
        isStream: translation.wantsStream,
        early,
      });
      return reply.forwardRequest(isAsReceived ? "unchanged" : upstream.body, changes);
    },
    described: (error) => error,
    close: () => {},
  };
}

function throughSeveral(plan: DispatchPlan, deps: DispatchDeps): Dispatch {
  const { headers, model, requestId, early, wantsStream: isStream } = plan;
  const backends = orderBackends(model.backends, {
    // Without a conversation there is no prompt cache, and the beginning need not be parsed.
    affinity: isInputInterface(plan.client) ? requestId : affinityOf(plan),
    health: deps.health,
  });
  const attempts = startAttempts({ ...plan, backends, translate: translator(plan) }, deps);
  return {
    backend: () => attempts.backend(),
    translation: () => attempts.translation(),
    isByAttempt: true,
    failure: () => attempts.failure(),
    forward() {
      deps.openAttempts.add(requestId, attempts);
      return reply.forwardRequest("unchanged", attemptsChanges({ headers, requestId, worker: deps.worker, isStream, early }));
    },
    described: (error) => withTried(error, attempts),
    close() {
      attempts.close();
      deps.openAttempts.remove(requestId);
    },
  };
}

/** A separate closure: those of a dispatch live as long as the answer, and would retain the prompt. */
function translator(plan: DispatchPlan): (backend: Backend) => Translation {
  return (backend) => createTranslation(plan.client, { ...plan, backend });
}
