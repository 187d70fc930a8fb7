import { checkVersion, hasVersion } from "../../contract/messages-version.ts";
import { answerRoute } from "../answers/answer.ts";
import { authenticate, type AuthenticateInput, type Caller } from "../auth/authenticate.ts";
import { answerPreflight, isAllowedPreflight } from "../auth/cross-origin.ts";
import { readLength } from "../headers.ts";
import { checkBodyComes } from "../protocol/json/parse-body.ts";
import * as reply from "../reply.ts";
import { findEndpoint, protocolOf, type Endpoint } from "../route/endpoint.ts";
import type { ExchangeContext } from "./context.ts";
import { answered, type Step } from "./phase.ts";

interface Arrived {
  endpoint: Exclude<Endpoint, { kind: "root" }>;
  headers: ReadonlyMap<string, string>;
  /** No body follows. */
  isEnd: boolean;
}

/**
 * Phase 1: identifies the caller and the request, and decides whether it is allowed, before the body is read.
 * @throws GatewayError, or rejects with one, to refuse the request.
 */
export function admit(context: ExchangeContext, headers: ReadonlyMap<string, string>, isEnd: boolean): Step | Promise<Step> {
  const { deps, requestId, startedMs } = context;
  const readHeader = (name: string) => headers.get(name);
  const line = {
    method: headers.get(":method") ?? "",
    path: headers.get(":path") ?? "",
    hasVersion: hasVersion(readHeader),
    storesResponses: deps.world.storesResponses,
  };
  context.protocol = protocolOf(line);
  if (isAllowedPreflight(headers, deps.world)) return preflight(context, headers);
  const endpoint = findEndpoint(line);
  if (endpoint.kind === "generate" || endpoint.kind === "count_tokens") context.protocol = endpoint.protocol;
  if (context.protocol === "messages") checkVersion(readHeader);
  if (endpoint.kind === "root") return answered(reply.answerNow(deps.answers.root(requestId)));

  const arrived = { endpoint, headers, isEnd };
  const caller = authenticate(identityOf(context, headers, startedMs));
  return caller instanceof Promise
    ? caller.then((found) => admitCaller(context, found, arrived))
    : admitCaller(context, caller, arrived);
}

/** What decides whose request it is. */
export function identityOf({ deps }: ExchangeContext, headers: ReadonlyMap<string, string>, nowMs: number): AuthenticateInput {
  const { world, catchUp, addresses, pepper, tickets, keysUrl } = deps;
  return { headers, world, catchUp, addresses, pepper, tickets, nowMs, keysUrl };
}

/** At the pace of refusals without an account: anyone can send them. */
function preflight({ deps, requestId }: ExchangeContext, headers: ReadonlyMap<string, string>): Step | Promise<Step> {
  const step = answered(reply.answerNow(answerPreflight(headers, requestId)));
  return deps.refusals.hold(null)?.then(() => step) ?? step;
}

function admitCaller(context: ExchangeContext, caller: Caller, { endpoint, headers, isEnd }: Arrived): Step | Promise<Step> {
  if (caller.batchRequestId !== undefined) context.requestId = caller.batchRequestId;
  const { deps, requestId, protocol } = context;
  // The client left while its key was looked up: anything taken now would never be returned.
  if (context.client.aborted) return answered(reply.continueToBody());
  context.caller = caller;
  const load = deps.loads.of(caller.account.accountId);
  context.load = load;
  switch (endpoint.kind) {
    case "usage":
    case "request_usage":
      context.slot = deps.freeRequests.report(load);
      context.closers.push(context.slot.release);
      return answerRoute({ endpoint, caller, load, requestId, deps }).then(answered);
    case "models":
    case "balance":
    case "stored_response":
      deps.freeRequests.lookUp(load);
      return answerRoute({ endpoint, caller, load, requestId, deps }).then(answered);
    case "count_tokens":
      deps.freeRequests.lookUp(load);
      break;
    case "generate":
      break;
  }
  // Counting tokens is free, but it is work: callers who may not generate may not count either.
  deps.limits.check(caller, protocol);
  deps.credit.check(caller.account);
  const form = endpoint.kind === "generate" ? endpoint.form : undefined;
  checkBodyComes({ headers, interface: protocol, form }, isEnd);
  context.slot = deps.admission.enter(load);
  context.closers.push(context.slot.release);
  const held = deps.byteAdmission.enter(caller.account.accountId, readLength(headers));
  context.heldBytes = held;
  context.closers.push(() => held.release(context.answerBytes));
  const admitted: Step = { reply: reply.continueToBody(), next: { kind: "admitted", caller, endpoint, headers } };
  const start = deps.starts.start(load);
  if (start === null) return admitted;
  context.start = start;
  context.closers.push(start.entered);
  return start.begun === null ? admitted : start.begun.then(() => admitted);
}
