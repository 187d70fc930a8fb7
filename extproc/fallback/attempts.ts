import type { Backend, CatalogueModel } from "../../contract/catalogue.ts";
import { GatewayError } from "../../contract/errors.ts";
import { DEFAULT_FIRST_BYTE_MS } from "../exchange/deadlines.ts";
import type { Events } from "../events.ts";
import { readRetryAfterMs } from "../protocol/retry-after.ts";
import { isAboutRequest, isMissingEndpoint } from "../protocol/upstream-error.ts";
import type { BackendHealth } from "../route/backend-health.ts";
import type { AnswerTranslation, Translation } from "../translate/translation.ts";

/**
 * One request's sequence of attempts at its Model's backends: the exchange begins it, Envoy's attempts run through it one by one.
 */
export interface Attempts {
  /** The running attempt, or the one whose answer passes; before the first one, the backend that it will use. */
  backend(): Backend;
  translation(): AnswerTranslation;
  /** Number of servers tried. */
  tried(): number;
  /** Why the last attempt has no server's answer; null if it has one. */
  failure(): GatewayError | null;
  /** How long each server may take to begin its answer. */
  readonly firstByteMs: number;
  /** Envoy asks for the backend. */
  begin(): Attempt;
  /** The client's exchange is over, whatever is running. */
  close(): void;
}

/** The request for a backend. */
export interface SentRequest {
  readonly upstream: Translation["upstream"];
  /** The body is passed on as the client sent it. */
  readonly isAsReceived: boolean;
}

/** One attempt at one backend. Its first end counts. */
export interface Attempt {
  readonly backend: Backend;
  /** Null once an answer passes: a prompt is large, and its answer may take minutes, so it was released. */
  request(): SentRequest | null;
  answered(answer: AttemptAnswer): "pass" | "try_next";
  /** No answer arrived within the Model's timeout. */
  timedOut(): "pass" | "try_next";
  /** The client left, or its total time is over. */
  abandoned(): void;
}

interface AttemptAnswer {
  status: number;
  headers: ReadonlyMap<string, string>;
  /** Envoy's own reply: no server was reached, or it sent invalid HTTP. */
  isLocalReply: boolean;
}

export interface AttemptsStart {
  requestId: string;
  model: Pick<CatalogueModel, "name" | "timeouts">;
  /** In the order in which they are to be tried. */
  backends: readonly Backend[];
  /** The body as Envoy buffers it. */
  received: Buffer;
  /** @throws GatewayError if the backend's protocol cannot express the request. */
  translate(backend: Backend): Translation;
}

export interface AttemptsDeps {
  health: BackendHealth;
  events: Pick<Events, "attemptFailed">;
  clock: { nowMs(): number };
}

interface Step {
  backend: Backend;
  translation: AnswerTranslation;
  /** Null once its answer passes. */
  sent: SentRequest | null;
}

/** @throws GatewayError if no backend's protocol can express the request: the first one's. */
export function startAttempts(
  { requestId, model, backends, ...start }: AttemptsStart,
  { health, events, clock }: AttemptsDeps,
): Attempts {
  const left = [...backends];
  /** The source of an attempt's request, until an answer passes. */
  let source: Pick<AttemptsStart, "received" | "translate"> | undefined = start;
  let current = firstStep();
  let next: Step | undefined = current;
  let failure: GatewayError | null = null;
  let tried = 0;

  function firstStep(): Step {
    const [first] = left;
    const step = takeStep();
    if (step !== undefined) return step;
    if (first === undefined) throw new Error("a request was to be tried at no backend");
    return stepTo(first);
  }

  function stepTo(backend: Backend): Step {
    if (source === undefined) throw new Error("a request was to be tried again behind its answer");
    const { upstream, ...translation } = source.translate(backend);
    return { backend, translation, sent: { upstream, isAsReceived: upstream.body === source.received } };
  }

  /** A backend whose protocol cannot express the request is skipped. */
  function takeStep(): Step | undefined {
    for (let backend = left.shift(); backend !== undefined; backend = left.shift()) {
      try {
        return stepTo(backend);
      } catch (error) {
        if (!(error instanceof GatewayError)) throw error;
      }
    }
    return undefined;
  }

  function begin(): Attempt {
    // Envoy makes an unrequested attempt only if its internal connection broke: the same backend again.
    const step = next ?? current;
    const { backend } = step;
    current = step;
    next = undefined;
    failure = null;
    tried += 1;
    health.began(backend.cluster);
    let isOver = false;

    function end(answer: AttemptAnswer | "timed_out"): "pass" | "try_next" {
      if (isOver) return "pass";
      isOver = true;
      failure = failureOf(answer);
      const status = answer === "timed_out" ? 504 : answer.status;
      if (failure === null && isAnswer(status)) {
        health.succeeded(backend.cluster);
        return pass();
      }
      const retryAfterMs = answer === "timed_out" ? null : readRetryAfterMs(answer.headers, clock.nowMs());
      // A server that answers nothing else with it is not to rest: it serves all other requests.
      if (step.translation.optional !== undefined && isMissingEndpoint(status)) health.abandoned(backend.cluster);
      else health.failed(backend.cluster, { isRateLimit: status === 429, retryAfterMs });
      next = takeStep();
      events.attemptFailed({
        requestId,
        model: model.name,
        backend: backend.name,
        attempt: tried,
        status,
        isLast: next === undefined,
      });
      return next === undefined ? pass() : "try_next";
    }

    function pass(): "pass" {
      step.sent = null;
      source = undefined;
      return "pass";
    }

    return {
      backend,
      request: () => step.sent,
      answered: end,
      timedOut: () => end("timed_out"),
      abandoned() {
        if (isOver) return;
        isOver = true;
        health.abandoned(backend.cluster);
      },
    };
  }

  return {
    backend: () => current.backend,
    translation: () => current.translation,
    tried: () => tried,
    failure: () => failure,
    firstByteMs: model.timeouts?.firstByteMs ?? DEFAULT_FIRST_BYTE_MS,
    begin,
    close() {
      left.length = 0;
      next = undefined;
    },
  };
}

/** An answer for the client: successful, or about the request itself, which every backend would give. */
function isAnswer(status: number): boolean {
  return (status >= 200 && status < 300) || status === 413 || isAboutRequest(status);
}

function failureOf(answer: AttemptAnswer | "timed_out"): GatewayError | null {
  if (answer === "timed_out") return tooLate();
  return answer.isLocalReply ? localReplyError(answer.status) : null;
}

/** The client's error if Envoy answered in a model server's place. @param details Envoy's reason, if known. */
export function localReplyError(status: number, details = ""): GatewayError {
  if (details === "cluster_not_found") return new GatewayError("overloaded", BUSY, { headers: { "retry-after": "1" } });
  if (status === 504) return tooLate();
  return status === 502
    ? new GatewayError("upstream_error", "The model server's answer could not be read. Try again.")
    : new GatewayError("upstream_unavailable", "The model server cannot be reached right now. Try again.");
}

const BUSY = "The gateway cannot accept this request right now. Try again.";

/** No server answered within the Model's timeout (S22). */
export function tooLate(): GatewayError {
  return new GatewayError("upstream_timeout", "The model server did not answer in time. Try again.");
}

/** The last error, with the number of servers tried; which ones is confidential (S17). */
export function withTried(error: GatewayError, { tried }: Pick<Attempts, "tried">): GatewayError {
  if (tried() < 2) return error;
  return new GatewayError(error.code, `${error.message} ${tried()} servers were tried.`, {
    status: error.status,
    headers: error.headers,
    cause: error.cause,
    kind: error.kind,
    details: error.details,
    ...(error.field === null ? {} : { field: error.field }),
  });
}
