import * as z from "zod";
import { readBalance } from "../../../ledger/accounts/accounts.ts";
import { redeemCode } from "../../../ledger/credit/codes.ts";
import { CREDIT_KINDS, listEntries } from "../../../ledger/credit/entry-list.ts";
import type { AppDeps } from "../../app-deps.ts";
import { callerOf } from "../caller.ts";
import { encodeCursor, readEntryCursor } from "../cursor.ts";
import type { Api } from "../provider.ts";
import { failures } from "../schemas/error.ts";
import { orOther } from "../schemas/or-other.ts";
import { moment, nextCursor, pageQuery, showMoment, showMoney, usd, words } from "../schemas/values.ts";

const tags = ["Credit"];
const currency = z.literal("USD");
const entry = z
  .object({
    id: z.string(),
    kind: orOther(CREDIT_KINDS),
    amount: usd.meta({ description: "Negative for deductions" }),
    note: z.string().nullable(),
    created_at: moment,
  })
  .meta({ id: "Entry" });

export function creditApi(api: Api, { database, pepper }: AppDeps): void {
  api.get(
    "/credit",
    {
      schema: {
        tags,
        summary: "Get the balance",
        description: "`held` is part of `balance`: at most this much is reserved for requests in progress.",
        response: { 200: z.object({ currency, balance: usd, held: usd, overdraft: usd }), ...failures },
      },
    },
    async (request) => {
      const balance = await readBalance(database, callerOf(request).accountId);
      return {
        currency: "USD" as const,
        balance: showMoney(balance.postedNanoUsd),
        held: showMoney(balance.leasedNanoUsd),
        overdraft: showMoney(balance.overdraftNanoUsd),
      };
    },
  );

  api.get(
    "/credit/entries",
    {
      schema: {
        tags,
        summary: "List credit entries other than usage, newest first",
        querystring: z.strictObject(pageQuery),
        response: { 200: z.object({ data: z.array(entry), next_cursor: nextCursor }), ...failures },
      },
    },
    async (request) => {
      const { accountId } = callerOf(request);
      const { limit, cursor } = request.query;
      const afterId = cursor === undefined ? {} : { afterId: readEntryCursor(cursor) };
      const page = await listEntries(database, { accountId, limit, ...afterId });
      const data = page.entries.map(({ id, kind, amountNanoUsd, note, createdAt }) => ({
        id: String(id),
        kind,
        amount: showMoney(amountNanoUsd),
        note,
        created_at: showMoment(createdAt),
      }));
      return { data, next_cursor: page.next === null ? null : encodeCursor(String(page.next)) };
    },
  );

  api.post(
    "/credit/redeem",
    {
      schema: {
        tags,
        summary: "Redeem a code",
        description: "Redeeming the same code again adds nothing. Requires the member role.",
        body: z.strictObject({ code: words("A code", 100) }),
        response: {
          200: z.object({
            currency,
            amount: usd,
            balance: usd,
            is_new: z.boolean().meta({ description: "false if this account had already redeemed it" }),
          }),
          ...failures,
        },
      },
    },
    async (request) => {
      const caller = callerOf(request, "addCredit");
      const posted = await redeemCode(database, { actor: caller, code: request.body.code, pepper });
      return {
        currency: "USD" as const,
        amount: showMoney(posted.amountNanoUsd),
        balance: showMoney(posted.postedNanoUsd),
        is_new: posted.isNew,
      };
    },
  );
}
