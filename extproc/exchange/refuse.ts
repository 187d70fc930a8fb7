import { toGatewayError, type ErrorCode, type GatewayError } from "../../contract/errors.ts";
import { platformPath } from "../../contract/platform.ts";
import { upstreamPath } from "../../contract/protocol.ts";
import type { Reply } from "../reply.ts";
import { redactorOf, type ExchangeContext, type Forwarded } from "./context.ts";
import { answerRefusal, encodeRefusal, reasonOf } from "./refusal.ts";

/** Ends the request with an error in the caller's protocol (S17). */
export function refuse(context: ExchangeContext, thrown: unknown): Reply {
  const { forwarded, protocol, requestId } = context;
  forwarded?.deadlines.over();
  const error = noteFailure(context, thrown);
  forwarded?.run.settle("failed", error.status);
  return answerRefusal(context, encodeRefusal(protocol, error, requestId, reasonOf(forwarded)));
}

/** The same for a request that was not sent upstream: floods of those wait for their refusals. */
export function refuseSlowly(context: ExchangeContext, thrown: unknown): Reply | Promise<Reply> {
  const refusal = refuse(context, thrown);
  context.slot?.release();
  return context.deps.refusals.hold(context.load)?.then(() => refusal) ?? refusal;
}

/**
 * Logs which caller was refused, or which model server failed.
 * @returns the client's error, without a credential that a server may have repeated.
 */
export function noteFailure(context: ExchangeContext, thrown: unknown): GatewayError {
  const { deps, requestId, forwarded } = context;
  const error = forwarded === undefined ? toGatewayError(thrown) : redactorOf(context).error(toGatewayError(thrown));
  context.errorCode = error.code;
  if (error.code === "internal_error") deps.events.exchangeFailed({ requestId, error: thrown });
  else if (forwarded === undefined) noteRefusal(context, error);
  else noteUpstream(context, forwarded, { status: error.status, code: error.code });
  return error;
}

/** Settles the run as failed. */
export function noteUpstream(
  { deps, requestId, protocol }: ExchangeContext,
  { run, dispatch, upstreamStatus }: Forwarded,
  { status, code }: { status: number; code: ErrorCode },
): void {
  const { name: backend, basePath, protocol: spoken, platform, upstreamModel: model } = run.backend();
  const isStream = dispatch.translation().wantsStream;
  const path = basePath + (platform === undefined ? upstreamPath(protocol, spoken) : platformPath(platform, { model, isStream }));
  deps.events.upstreamFailed({ requestId, model: run.model.name, backend, upstreamStatus, upstreamPath: path, status, code });
  run.settle("failed", status);
}

function noteRefusal(context: ExchangeContext, { code, status, cause }: GatewayError): void {
  const { deps, requestId, protocol, caller } = context;
  const accountId = caller?.account.accountId ?? null;
  const keyId = caller?.key.publicId ?? null;
  const durationMs = deps.clock.nowMs() - context.startedMs;
  deps.events.requestRefused({ requestId, accountId, keyId, protocol, code, status, durationMs, cause });
}
