import type { Label } from "../../contract/labels.ts";
import { isInputInterface } from "../../contract/protocol.ts";
import { authenticateAgain, type Caller } from "../auth/authenticate.ts";
import { orRelease, release, reserve, type Reservation } from "../credit/reservation.ts";
import type { EarlyAnswers } from "../early-answers/early-answers.ts";
import { planDispatch, type Dispatch } from "../fallback/dispatch.ts";
import { readLabels } from "../labels/read-labels.ts";
import { sizeInput } from "../meter/input-size.ts";
import { sizeRequest, type RequestSize } from "../meter/request-size.ts";
import { startRun, type Run } from "../meter/run.ts";
import { readCostRequest, type CostRequest } from "../protocol/cost-request.ts";
import { parseForm } from "../protocol/form/form-body.ts";
import { FORM_RULES, type FormKind } from "../protocol/form/form-rules.ts";
import { isObject } from "../protocol/json/object.ts";
import { parseBody } from "../protocol/json/parse-body.ts";
import type { RequestBody } from "../protocol/json/request-body.ts";
import * as reply from "../reply.ts";
import { chooseBackend } from "../route/choose-backend.ts";
import { chooseModel } from "../route/choose-model.ts";
import { withProviderKey } from "../route/provider-key.ts";
import { pricedAt, pricedForBatch, type WorldModel } from "../world/world.ts";
import { identityOf } from "./admit.ts";
import { charged } from "./charged.ts";
import { checkText } from "./check-text.ts";
import type { ExchangeContext, Forwarded } from "./context.ts";
import { countTokens } from "./count-tokens.ts";
import { startDeadlines } from "./deadlines.ts";
import { brokenOff, late } from "./interrupt.ts";
import { createRelayedAnswer } from "./relayed-answer.ts";
import { answered, type Admitted, type Step } from "./phase.ts";
import { record } from "./record.ts";
import { recallTurn, type StoredTurn } from "./stored-turn.ts";

interface ReadRequest extends StoredTurn {
  /** The body as Envoy buffers it. */
  received: Buffer;
  headers: ReadonlyMap<string, string>;
  caller: Caller;
  model: WorldModel;
  size: RequestSize;
  labels: readonly Label[];
}

/**
 * Phase 2: chooses model, backend and protocol, and sends the body on, translated.
 * @throws GatewayError, or rejects with one, to refuse the request.
 */
export function forward(context: ExchangeContext, admitted: Admitted, bytes: Buffer): Step | Promise<Step> {
  const { deps, protocol, startedMs } = context;
  const { endpoint, headers } = admitted;
  context.requestBytes = bytes.length;
  context.heldBytes?.resize(bytes.length);
  // A body may take minutes to arrive.
  const caller = stillAccepted(context, admitted);
  context.caller = caller;
  // Also what is refused below.
  if (caller.key.hasPromptLog) record(context, { ...admitted, caller }, bytes);
  const bodyFacts = { headers, interface: protocol };
  const form = endpoint.kind === "generate" ? endpoint.form : undefined;
  const { body, wantsCost } =
    form === undefined ? readCostRequest(parseBody(bytes, bodyFacts), bodyFacts) : readForm(bytes, { headers, form });
  context.wantsCost = wantsCost;
  const { world, modelsUrl } = deps;
  const chosen = chooseModel({ world, key: caller.key, protocol, modelsUrl, name: body.member("model") });
  context.recording?.understood(body, chosen.name);
  const priced = caller.batchRequestId === undefined ? pricedAt(chosen, startedMs) : pricedForBatch(chosen, startedMs);
  const model = withProviderKey(priced, caller.account);
  if (model.guardrail?.answers !== undefined) context.wantsUsage = asksForUsage(body);
  const recalled = recallTurn(context, { body, headers, caller, model });
  const proceed = endpoint.kind === "count_tokens" ? count : generate;
  if (!(recalled instanceof Promise)) return proceed(recalled);
  return recalled.then((turn) =>
    charged(context, () => {
      stillAccepted(context, { caller, headers });
      return proceed(turn);
    }),
  );

  function count(turn: StoredTurn): Step | Promise<Step> {
    const backend = chooseBackend(model.backends, deps.random());
    return countTokens(context, { body: turn.body, headers, caller, backend, client: endpoint.protocol });
  }

  function generate(turn: StoredTurn): Step | Promise<Step> {
    const labels = caller.account.keepsLabels === true ? readLabels({ protocol, headers, body }) : NO_LABELS;
    return hold(context, { ...turn, received: bytes, headers, caller, model, labels });
  }
}

/** To be called after each wait. @throws GatewayError if the caller's key or account may not be used any more. */
function stillAccepted(context: ExchangeContext, { caller, headers }: Pick<Admitted, "caller" | "headers">): Caller {
  return authenticateAgain(caller, identityOf(context, headers, context.deps.clock.nowMs()));
}

function asksForUsage({ outline }: RequestBody): boolean {
  const options = outline["stream_options"];
  return isObject(options) && options["include_usage"] === true;
}

/** Its `usage` would be a text: the cost is in a header. */
function readForm(bytes: Buffer, { headers, form }: { headers: ReadonlyMap<string, string>; form: FormKind }): CostRequest {
  return { body: parseForm(bytes, headers, FORM_RULES[form]), wantsCost: false };
}

const NO_LABELS: readonly Label[] = [];

/** The possible cost of the answer is reserved before the request is sent. */
function hold(context: ExchangeContext, turn: Omit<ReadRequest, "size">): Step | Promise<Step> {
  const { deps, protocol } = context;
  const { body, caller, model } = turn;
  const size = isInputInterface(protocol) ? sizeInput(body, { client: protocol, model }) : sizeRequest(body, { protocol, model });
  context.heldBytes?.reserve(context.requestBytes + size.answerBytes);
  // Its journal and its charge have the price of the units that it asks for.
  const { unitPicoUsd } = size;
  const priced = unitPicoUsd === undefined ? model : { ...model, price: { ...model.price, unitPicoUsd } };
  const request = { ...turn, size, model: priced };
  const reserved = reserve(deps, { caller, protocol, size: size.hold, signal: context.client });
  return reserved instanceof Promise
    ? reserved.then((reservation) =>
        charged(context, () => {
          acceptOrRelease(context, request, reservation);
          return sendChecked(context, request, reservation);
        }),
      )
    : sendChecked(context, request, reserved);
}

/** The credit stays held while a hook checks the text. */
function sendChecked(context: ExchangeContext, request: ReadRequest, reservation: Reservation): Step | Promise<Step> {
  const { body, model, caller, size } = request;
  const heldBytes = context.requestBytes + size.answerBytes;
  const { accountId } = caller.account;
  const check = orRelease(reservation, () => checkText(context, { body, model, accountId, heldBytes }));
  if (check === null) return send(context, request, reservation);
  return check.then(
    () =>
      charged(context, () => {
        acceptOrRelease(context, request, reservation);
        return send(context, request, reservation);
      }),
    (thrown: unknown) => {
      release(reservation);
      throw thrown;
    },
  );
}

/** After a wait for credit or limits, or for a check of the text. @throws as `stillAccepted`. */
function acceptOrRelease(context: ExchangeContext, request: ReadRequest, reservation: Reservation): void {
  orRelease(reservation, () => stillAccepted(context, request));
}

function send(context: ExchangeContext, request: ReadRequest, reservation: Reservation): Step {
  // The client left while the request waited: nothing runs, and nobody reads this reply.
  if (context.client.aborted) {
    release(reservation);
    return answered(reply.passBody());
  }
  const { deps, requestId, protocol: client } = context;
  const { body, received, headers, caller, model, size, storage, keep, labels } = request;
  const { outputTokens } = reservation;
  const { wantsStream } = size;
  const nowSeconds = Math.floor(context.startedMs / 1000);
  const secondsNow = secondsOf(deps.clock);
  const keyId = caller.key.publicId;
  const isEarly = wantsStream && !isInputInterface(client) && model.answerAfterMs !== undefined;
  const early = isEarly ? deps.earlyAnswers : null;
  const dispatch = orRelease(reservation, () =>
    planDispatch(
      {
        body,
        received,
        headers,
        model,
        outputTokens,
        requestId,
        nowSeconds,
        secondsNow,
        storage,
        client,
        wantsStream,
        keyId,
        early,
      },
      deps,
    ),
  );
  context.closers.push(dispatch.close);
  const forwarded = start(context, {
    dispatch,
    caller,
    model,
    wantsStream,
    meter: size.meter(outputTokens),
    reservation,
    keep,
    labels,
  });
  context.forwarded = forwarded;
  if (early !== null) expectRelay(context, forwarded, early);
  return { reply: dispatch.forward(), next: { kind: "forwarded", forwarded } };
}

interface Start {
  dispatch: Dispatch;
  caller: Caller;
  model: WorldModel;
  wantsStream: boolean;
  meter: ReturnType<RequestSize["meter"]>;
  reservation: Reservation;
  keep: StoredTurn["keep"];
  labels: readonly Label[];
}

/** Separate from the request's body: the closures created here live as long as the answer, and would retain the prompt. */
function start(
  context: ExchangeContext,
  { dispatch, caller, model, wantsStream, meter, reservation, keep, labels }: Start,
): Forwarded {
  const { deps, requestId, protocol, startedMs } = context;
  const backend = dispatch.backend();
  const run = withLabels(context, labels, (kept) =>
    startRun(
      { requestId, caller, model, backend, protocol, isStream: wantsStream, startedMs, meter, reservation, labels: kept },
      deps,
    ),
  );
  const { isByAttempt } = dispatch;
  const deadlines = startDeadlines({ timeouts: model.timeouts, isByAttempt, onPassed: (time) => late(context, time) });
  context.closers.push(deadlines.over);
  deps.brokenAnswers.watch(requestId, (report) => brokenOff(context, report));
  return {
    run,
    dispatch,
    deadlines,
    keep,
    answer: null,
    upstreamStatus: null,
    localReply: null,
    earlyReport: null,
    isBroken: false,
    blameServer: null,
    relayed: null,
  };
}

/** Apart from the request: an answer keeps it until its end. */
function secondsOf(clock: ExchangeContext["deps"]["clock"]): () => number {
  return () => Math.floor(clock.nowMs() / 1000);
}

/** A request that cannot begin gives their memory back; one that runs does so when it is settled. */
function withLabels(
  { deps: { labelBudget }, requestId }: ExchangeContext,
  labels: readonly Label[],
  begin: (kept: readonly Label[]) => Run,
): Run {
  const kept = labelBudget.take(requestId, labels);
  try {
    return begin(kept);
  } catch (error) {
    labelBudget.release(requestId);
    throw error;
  }
}

function expectRelay(context: ExchangeContext, forwarded: Forwarded, earlyAnswers: EarlyAnswers): void {
  const { requestId } = context;
  const relayed = createRelayedAnswer(context, forwarded, forwarded.run.model.answerAfterMs ?? 0);
  forwarded.relayed = relayed;
  earlyAnswers.expect(requestId, relayed);
  context.closers.push(() => earlyAnswers.forget(requestId));
}
