import { Command } from "commander";
import { createAccount, readBalance } from "../accounts/accounts.ts";
import type { Database } from "../postgres/database.ts";
import { postCredit } from "../credit/entries.ts";
import { formatNanoUsd, parseNanoUsd } from "../money.ts";

export interface AccountCommandDeps {
  database: Database;
  print: (line: string) => void;
}

/**
 * Makes an account, or finds the one that is there, and grants it credit. A grant's reference is posted once: the same
 * command again moves nothing.
 * @param words such as `team-a --grant-usd 20 --reference "order 17"`.
 * @throws GatewayError as `createAccount` and `postCredit` do.
 */
export async function runAccountCommand(words: readonly string[], { database, print }: AccountCommandDeps): Promise<void> {
  const command = new Command("ledger/account-command")
    .description("Makes an account where there is none of that id, and grants it credit.")
    .argument("<id>", "lower-case letters, digits and dashes")
    .option("--name <name>", "for people; the id where not given")
    .option("--grant-usd <amount>", "such as 20 or 0.50; needs --reference")
    .option("--reference <text>", "what the credit is for; each is posted once")
    .allowExcessArguments(false);
  const [id = ""] = command.parse([...words], { from: "user" }).args;
  const options: { name?: string; grantUsd?: string; reference?: string } = command.opts();
  if ((options.grantUsd === undefined) !== (options.reference === undefined))
    command.error("--grant-usd and --reference go together.");
  const amountNanoUsd = options.grantUsd === undefined ? undefined : parseNanoUsd(options.grantUsd);

  const { isNew } = await createAccount(database, { id, name: options.name ?? id });
  print(isNew ? `Account ${id} is made.` : `Account ${id} is there already.`);
  if (amountNanoUsd !== undefined && options.reference !== undefined) {
    const posted = await postCredit(database, { accountId: id, kind: "grant", amountNanoUsd, reference: options.reference });
    print(posted.isNew ? `Granted ${formatNanoUsd(amountNanoUsd)} USD.` : "That reference was granted before: nothing moved.");
  }
  const { postedNanoUsd } = await readBalance(database, id);
  print(`Balance: ${formatNanoUsd(postedNanoUsd)} USD.`);
}
