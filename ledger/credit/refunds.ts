import * as z from "zod";
import { GatewayError } from "../../contract/errors.ts";
import type { Database } from "../postgres/database.ts";
import { postCreditIn, type PostedCredit } from "./entries.ts";

export interface Refund {
  requestId: string;
  /** The whole charge where not given. */
  amountNanoUsd?: bigint;
  /** Tells refunds of one request apart; the same one is posted once. */
  reference: string;
  note?: string;
}

const chargeRow = z.strictObject({ accountId: z.string(), chargedNanoUsd: z.bigint() });
const refundedRow = z.strictObject({ refundedNanoUsd: z.bigint() });

/**
 * Gives the charge of a request back, or a part of it, to the account that paid; all refunds of a request together never
 * more than its charge.
 * @throws GatewayError `not_found` where nothing was charged; `invalid_request` for more than is left of the charge.
 */
export async function refundRequest(
  database: Database,
  { requestId, amountNanoUsd, reference, note }: Refund,
): Promise<PostedCredit> {
  return database.transaction(async (transaction) => {
    const [charge] = await transaction.query({
      text: `SELECT account_id AS "accountId", (-sum(amount_nano_usd))::bigint AS "chargedNanoUsd"
             FROM ledger_entry WHERE request_id = $1 GROUP BY account_id`,
      values: [requestId],
      row: chargeRow,
    });
    if (charge === undefined)
      throw new GatewayError("not_found", `Nothing was charged for the request \`${requestId}\`.`, { field: "requestId" });
    const { accountId, chargedNanoUsd } = charge;
    // Two refunds of one request at once: the second sees the first.
    await transaction.execute("SELECT FROM account_balance WHERE account_id = $1 FOR NO KEY UPDATE", [accountId]);
    const prefix = `refund:${requestId}:`;
    const [others] = await transaction.query({
      text: `SELECT coalesce(sum(amount_nano_usd), 0)::bigint AS "refundedNanoUsd" FROM ledger_entry
             WHERE account_id = $1 AND kind = 'refund' AND starts_with(reference, $2) AND reference <> $3`,
      values: [accountId, prefix, prefix + reference],
      row: refundedRow,
    });
    const leftNanoUsd = chargedNanoUsd - (others?.refundedNanoUsd ?? 0n);
    const wantedNanoUsd = amountNanoUsd ?? leftNanoUsd;
    if (wantedNanoUsd > leftNanoUsd)
      throw new GatewayError("invalid_request", "A refund is at most what is left of the request's charge.", {
        field: "amountNanoUsd",
      });
    return postCreditIn(transaction, {
      accountId,
      kind: "refund",
      amountNanoUsd: wantedNanoUsd,
      reference: prefix + reference,
      ...(note === undefined ? {} : { note }),
    });
  });
}
