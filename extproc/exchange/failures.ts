import { toGatewayError, type ErrorCode, type GatewayError } from "../../contract/errors.ts";
import { UPSTREAM_PATHS, type Interface } from "../../contract/protocol.ts";
import type { Caller } from "../auth/authenticate.ts";
import type { ExchangeDeps } from "./deps.ts";
import type { Run } from "../meter/run.ts";

/** What went wrong in one exchange, told to logs and metrics: who was refused, or which model server failed. */
export interface ExchangeFailures {
  /** @returns what the client is told: a GatewayError, without the credential that a server may have repeated. */
  note(thrown: unknown): GatewayError;
  /** Settles the run as failed. */
  noteUpstream(run: Run, status: number, code: ErrorCode): void;
  /** Of the latest one; null where nothing went wrong. */
  readonly code: ErrorCode | null;
}

/** What is known of the exchange when something goes wrong. */
export interface FailedExchange {
  requestId: string;
  startedMs: number;
  protocol(): Interface;
  caller(): Caller | undefined;
  run(): Run | undefined;
  /** The model server's own status, for the operator's log; the client's may differ. */
  upstreamStatus(): number | null;
}

export function createExchangeFailures(deps: ExchangeDeps, exchange: FailedExchange): ExchangeFailures {
  const { requestId } = exchange;
  let latest: ErrorCode | null = null;

  function noteRefusal({ code, status, cause }: GatewayError): void {
    const caller = exchange.caller();
    const accountId = caller?.account.accountId ?? null;
    const keyId = caller?.key.publicId ?? null;
    const durationMs = deps.clock.nowMs() - exchange.startedMs;
    const protocol = exchange.protocol();
    deps.events.requestRefused({ requestId, accountId, keyId, protocol, code, status, durationMs, cause });
  }

  function noteUpstream(run: Run, status: number, code: ErrorCode): void {
    const { name: backend, basePath, protocol } = run.backend();
    const upstreamPath = basePath + UPSTREAM_PATHS[protocol];
    const upstreamStatus = exchange.upstreamStatus();
    deps.events.upstreamFailed({ requestId, model: run.model.name, backend, upstreamStatus, upstreamPath, status, code });
    run.settle("failed", status);
  }

  return {
    note(thrown) {
      const run = exchange.run();
      const error = run === undefined ? toGatewayError(thrown) : deps.redactor.error(toGatewayError(thrown));
      latest = error.code;
      if (error.code === "internal_error") deps.events.exchangeFailed({ requestId, error: thrown });
      else if (run !== undefined) noteUpstream(run, error.status, error.code);
      else noteRefusal(error);
      return error;
    },
    noteUpstream,
    get code() {
      return latest;
    },
  };
}
