import * as z from "zod";
import { GatewayError } from "../../contract/errors.ts";
import type { Database, Queryable } from "../postgres/database.ts";
import { postCreditIn, type PostedCredit } from "./entries.ts";

export interface Refund {
  /** The account that paid for it. */
  accountId: string;
  requestId: string;
  /** The whole charge if absent. */
  amountNanoUsd?: bigint;
  /** Distinguishes refunds of one request; the same one is posted once. */
  reference: string;
  note?: string;
}

const chargeRow = z.strictObject({ chargedNanoUsd: z.bigint() });
const refundedRow = z.strictObject({ refundedNanoUsd: z.bigint() });

/**
 * Returns a request's charge, or a part of it, to the account that paid: all refunds together are at most the charge.
 * @throws GatewayError `not_found` if nothing was charged; `invalid_request` for more than the remaining charge.
 */
export async function refundRequest(database: Database, refund: Refund): Promise<PostedCredit> {
  return database.transaction((transaction) => refundRequestIn(transaction, refund));
}

/** The same in the caller's transaction. */
export async function refundRequestIn(
  transaction: Queryable,
  { accountId, requestId, amountNanoUsd, reference, note }: Refund,
): Promise<PostedCredit> {
  if (!z.uuid().safeParse(requestId).success)
    throw new GatewayError("invalid_request", "A request ID looks like 0199d8a0-0000-7000-8000-000000000000.", {
      field: "requestId",
    });
  const [charge] = await transaction.query({
    text: `SELECT (-sum(amount_nano_usd))::bigint AS "chargedNanoUsd"
           FROM ledger_entry WHERE request_id = $1 AND account_id = $2 GROUP BY account_id`,
    values: [requestId, accountId],
    row: chargeRow,
  });
  if (charge === undefined)
    throw new GatewayError("not_found", `Account \`${accountId}\` was charged nothing for the request \`${requestId}\`.`, {
      field: "requestId",
    });
  const { chargedNanoUsd } = charge;
  // Of two concurrent refunds of one request, the second sees the first.
  await transaction.execute("SELECT FROM account_balance WHERE account_id = $1 FOR NO KEY UPDATE", [accountId]);
  const prefix = `refund:${requestId}:`;
  const [others] = await transaction.query({
    text: `SELECT coalesce(sum(amount_nano_usd), 0)::bigint AS "refundedNanoUsd" FROM ledger_entry
           WHERE account_id = $1 AND kind = 'refund' AND starts_with(reference, $2) AND reference <> $3`,
    values: [accountId, prefix, prefix + reference],
    row: refundedRow,
  });
  const leftNanoUsd = chargedNanoUsd - (others?.refundedNanoUsd ?? 0n);
  if (leftNanoUsd === 0n)
    throw new GatewayError("invalid_request", "The charge of this request has already been refunded in full.", {
      field: "requestId",
    });
  const wantedNanoUsd = amountNanoUsd ?? leftNanoUsd;
  if (wantedNanoUsd > leftNanoUsd)
    throw new GatewayError("invalid_request", "A refund cannot exceed the rest of the request's charge.", {
      field: "amountNanoUsd",
    });
  return postCreditIn(transaction, {
    accountId,
    kind: "refund",
    amountNanoUsd: wantedNanoUsd,
    reference: prefix + reference,
    ...(note === undefined ? {} : { note }),
  });
}
