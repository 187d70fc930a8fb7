import * as z from "zod";
import { GatewayError } from "../../../contract/errors.ts";
import { findAccount } from "../../../ledger/accounts/accounts.ts";
import { listMembers, ROLES } from "../../../ledger/people/members.ts";
import type { AppDeps } from "../../app-deps.ts";
import { callerOf } from "../caller.ts";
import type { Api } from "../provider.ts";
import { failures } from "../schemas/error.ts";
import { orOther } from "../schemas/or-other.ts";
import { moment, showMoment } from "../schemas/values.ts";

const tags = ["Account"];
const role = orOther(ROLES);
const account = z
  .object({
    id: z.string(),
    name: z.string(),
    status: orOther(["active", "suspended"]),
    created_at: moment,
    caller: z.object({ role, is_token: z.boolean() }).meta({ description: "The caller" }),
  })
  .meta({ id: "Account" });
const member = z.object({ id: z.string(), email: z.string(), name: z.string(), role, since: moment }).meta({ id: "Member" });

export function accountApi(api: Api, { database }: AppDeps): void {
  api.get(
    "/account",
    { schema: { tags, summary: "Get the account", response: { 200: account, ...failures } } },
    async (request) => {
      const { accountId, role, tokenId } = callerOf(request);
      const found = await findAccount(database, accountId);
      if (found === undefined) throw new GatewayError("not_found", "This account does not exist.");
      const { id, name, status, createdAt } = found;
      return { id, name, status, created_at: showMoment(createdAt), caller: { role, is_token: tokenId !== null } };
    },
  );

  api.get(
    "/members",
    { schema: { tags, summary: "List members", response: { 200: z.object({ data: z.array(member) }), ...failures } } },
    async (request) => {
      const members = await listMembers(database, callerOf(request).accountId);
      const data = members.map(({ personId, email, name, role, since }) => ({
        id: personId,
        email,
        name,
        role,
        since: showMoment(since),
      }));
      return { data };
    },
  );
}
