import { Command } from "commander";
import { createAccount, readBalance } from "../accounts/accounts.ts";
import type { Database } from "../postgres/database.ts";
import { postCredit } from "../credit/entries.ts";
import { refundRequest, type Refund } from "../credit/refunds.ts";
import { formatNanoUsd, parseNanoUsd } from "../money.ts";

export interface AccountCommandDeps {
  database: Database;
  print: (line: string) => void;
}

/**
 * Makes an account, or finds the one that is there, and grants it credit; or refunds a request of the account. A grant's reference is posted once: the same
 * command again moves nothing.
 * @param words such as `team-a --grant-usd 20 --reference "order 17"`.
 * @throws GatewayError as `createAccount` and `postCredit` do.
 */
export async function runAccountCommand(words: readonly string[], { database, print }: AccountCommandDeps): Promise<void> {
  const command = new Command("ledger/account-command")
    .description("Makes an account where there is none of that id, and grants it credit; or refunds a request.")
    .argument("<id>", "lower-case letters, digits and dashes")
    .option("--name <name>", "for people; the id where not given")
    .option("--grant-usd <amount>", "such as 20 or 0.50; needs --reference")
    .option("--refund-request <request id>", "returns the request's charge; needs --reference")
    .option("--refund-usd <amount>", "returns only a part of it")
    .option("--reference <text>", "what the credit or the refund is for; each is posted once")
    .allowExcessArguments(false);
  const [id = ""] = command.parse([...words], { from: "user" }).args;
  const options: { name?: string; grantUsd?: string; refundRequest?: string; refundUsd?: string; reference?: string } =
    command.opts();
  const { refundRequest: requestId, refundUsd, reference } = options;
  if (options.grantUsd !== undefined && requestId !== undefined)
    command.error("--grant-usd and --refund-request exclude each other.");
  if (refundUsd !== undefined && requestId === undefined) command.error("--refund-usd needs --refund-request.");
  if (requestId !== undefined && reference === undefined) command.error("--refund-request needs --reference.");
  if (requestId === undefined && (options.grantUsd === undefined) !== (reference === undefined))
    command.error("--grant-usd and --reference go together.");
  const amountNanoUsd = options.grantUsd === undefined ? undefined : parseNanoUsd(options.grantUsd);
  if (requestId !== undefined && reference !== undefined)
    return printRefund({
      accountId: id,
      requestId,
      reference,
      ...(refundUsd === undefined ? {} : { amountNanoUsd: parseNanoUsd(refundUsd) }),
    });

  const { isNew } = await createAccount(database, { id, name: options.name ?? id });
  print(isNew ? `Account ${id} is made.` : `Account ${id} is there already.`);
  if (amountNanoUsd !== undefined && options.reference !== undefined) {
    const posted = await postCredit(database, { accountId: id, kind: "grant", amountNanoUsd, reference: options.reference });
    print(posted.isNew ? `Granted ${formatNanoUsd(amountNanoUsd)} USD.` : "That reference was granted before: nothing moved.");
  }
  const { postedNanoUsd } = await readBalance(database, id);
  print(`Balance: ${formatNanoUsd(postedNanoUsd)} USD.`);

  async function printRefund(refund: Refund): Promise<void> {
    const refunded = await refundRequest(database, refund);
    print(refunded.isNew ? "Refunded." : "That reference was refunded before: nothing moved.");
    print(`Balance: ${formatNanoUsd(refunded.postedNanoUsd)} USD.`);
  }
}
