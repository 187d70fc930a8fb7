import type { ErrorCode } from "../contract/errors.ts";
import type { Interface } from "../contract/protocol.ts";
import { formatNanoUsd } from "../ledger/money.ts";
import type { Settlement } from "../ledger/settlement/settlement.ts";
import type { Logger } from "../runtime/log.ts";

/** Which finished requests are logged: at thousands per second the lines cost more than they are worth. */
export const ACCESS_LOG_CHOICES = ["all", "errors", "off"] as const;
export type AccessLogChoice = (typeof ACCESS_LOG_CHOICES)[number];

/** One line per finished request; it contains no header, no body, and of a key only the public id. */
export interface AccessLog {
  settled(settlement: Settlement): void;
  refused(refusal: RefusedRequest): void;
}

/** A request that reached no upstream. */
export interface RefusedRequest {
  requestId: string;
  /** Null if the request ended before they were known. */
  accountId: string | null;
  keyId: string | null;
  protocol: Interface;
  code: ErrorCode;
  status: number;
  durationMs: number;
  /** The real cause; undefined if the code says everything. */
  cause: unknown;
}

export function createAccessLog({ log, choice }: { log: Logger; choice: AccessLogChoice }): AccessLog {
  return {
    settled(settlement) {
      if (choice === "off" || (choice === "errors" && settlement.outcome === "complete")) return;
      const { usage } = settlement;
      log.info(
        {
          requestId: settlement.requestId,
          account: settlement.accountId,
          key: settlement.keyId,
          model: settlement.model,
          backend: settlement.backend,
          interface: settlement.interface,
          upstream: settlement.upstreamProtocol,
          stream: settlement.isStream,
          status: settlement.httpStatus,
          outcome: settlement.outcome,
          tokens: {
            input: usage.inputTokens,
            cachedInput: usage.cachedInputTokens,
            cacheWrite: usage.cacheWriteTokens,
            output: usage.outputTokens,
            reasoning: usage.reasoningTokens,
          },
          ...(usage.units !== undefined && { units: usage.units }),
          estimated: settlement.isEstimated,
          chargeUsd: formatNanoUsd(settlement.chargeNanoUsd),
          durationMs: settlement.durationMs,
          firstTokenMs: settlement.firstTokenMs,
        },
        "request settled",
      );
    },
    refused({ requestId, accountId, keyId, protocol, code, status, durationMs, cause }) {
      // A failure of the gateway's own environment is always logged.
      if (choice === "off" && cause === undefined) return;
      log.info(
        {
          requestId,
          account: accountId,
          key: keyId,
          interface: protocol,
          status,
          outcome: "refused",
          code,
          durationMs,
          err: cause,
        },
        "request refused",
      );
    },
  };
}
