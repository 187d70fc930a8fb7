import type { FastifyRequest } from "fastify";
import { GatewayError } from "../../../contract/errors.ts";
import { findAccount, type Account } from "../../../ledger/accounts/accounts.ts";
import type { Queryable } from "../../../ledger/postgres/database.ts";

export type AccountRequest = FastifyRequest<{ Params: { accountId: string } }>;

const ACCOUNT_ID_FORM = /^[a-z0-9-]{1,63}$/;

/** The account that an admin page is about. @throws GatewayError `not_found`. */
export async function accountOf(database: Queryable, { params }: AccountRequest): Promise<Account> {
  const account = ACCOUNT_ID_FORM.test(params.accountId) ? await findAccount(database, params.accountId) : undefined;
  if (account === undefined) throw new GatewayError("not_found", "There is no such account.");
  return account;
}
