import { setAccountLimits } from "../../../ledger/leases/account-limits.ts";
import { noteAction } from "../../../ledger/people/audit.ts";
import type { AppDeps } from "../../app-deps.ts";
import { describeLimits, readAccountLimitsInUse } from "../../limits/read-account-limits.ts";
import { callerOf } from "../caller.ts";
import type { Api } from "../provider.ts";
import { failures } from "../schemas/error.ts";
import { accountLimits, limits, readLimits, showLimits, showUsed } from "../schemas/limits.ts";

const tags = ["Account"];

export function limitApi(api: Api, { database }: AppDeps): void {
  async function show(accountId: string) {
    const { effective, owner, operator, usage } = await readAccountLimitsInUse(database, accountId);
    return {
      effective: showLimits(effective),
      owner: showLimits(owner),
      operator: showLimits(operator),
      used: showUsed(usage),
    };
  }

  api.get(
    "/limits",
    {
      schema: {
        tags,
        summary: "Get the account's limits",
        description: "Limits on all keys together. Limits of a key are part of the key.",
        response: { 200: accountLimits, ...failures },
      },
    },
    async (request) => show(callerOf(request).accountId),
  );

  api.put(
    "/limits",
    {
      schema: {
        tags,
        summary: "Replace the owners' limits on the account",
        description: "Omitted limits are removed. Limits that the operator has set stay in force. Requires the owner role.",
        body: limits,
        response: { 200: accountLimits, ...failures },
      },
    },
    async (request) => {
      const caller = callerOf(request, "setLimits");
      const { accountId } = caller;
      const wanted = readLimits(request.body);
      await database.transaction(async (transaction) => {
        await setAccountLimits(transaction, { ...caller, by: "owner", limits: wanted });
        await noteAction(transaction, { ...caller, action: "account.limits_changed", subject: describeLimits(wanted) });
      });
      return show(accountId);
    },
  );
}
