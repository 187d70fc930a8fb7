import { Command } from "commander";
import { GatewayError } from "../../contract/errors.ts";
import { LIMIT_NAMES, LIMITS, limitsSchema } from "../../contract/limits.ts";
import { createAccount, readBalance } from "../accounts/accounts.ts";
import type { Database } from "../postgres/database.ts";
import { postCredit } from "../credit/entries.ts";
import { refundRequest, type Refund } from "../credit/refunds.ts";
import { readAccountLimits, setAccountLimits } from "../leases/account-limits.ts";
import { formatNanoUsd, parseNanoUsd } from "../money.ts";

export interface AccountCommandDeps {
  /** Called once the words are valid: help needs no database. */
  connect(): Database;
  print: (line: string) => void;
}

/**
 * Creates an account, or finds the existing one, grants it credit and sets its limits; or refunds a request of the account. A
 * grant's reference is posted once: repeating the command changes nothing.
 * @param words such as `team-a --grant-usd 20 --reference "order 17"`.
 * @throws GatewayError as `createAccount` and `postCredit` do.
 */
export async function runAccountCommand(words: readonly string[], { connect, print }: AccountCommandDeps): Promise<void> {
  const command = new Command("ledger/account-command")
    .description("Creates an account unless it exists, grants it credit and sets its limits; or refunds a request.")
    .argument("<id>", "lower-case letters, digits and dashes")
    .option("--name <name>", "display name (default: the id)")
    .option("--grant-usd <amount>", "such as 20 or 0.50; needs --reference")
    .option(
      "--limit <name=value>",
      `limits all keys of the account together; "none" removes the limit; repeatable; names: ${LIMIT_NAMES.join(", ")}`,
      (each: string, before: readonly string[]) => [...before, each],
      [],
    )
    .option("--refund-request <request id>", "refunds the request's charge; needs --reference")
    .option("--refund-usd <amount>", "refunds only this part of it")
    .option("--reference <text>", "what the credit or the refund is for; each is posted once")
    .allowExcessArguments(false);
  const [id = ""] = command.parse([...words], { from: "user" }).args;
  const options: Options = command.opts();
  const { refundRequest: requestId, refundUsd, reference, limit = [] } = options;
  const limitChanges = limit.map(readLimit);
  if (limit.length > 0 && requestId !== undefined) command.error("--limit and --refund-request cannot be combined.");
  if (options.grantUsd !== undefined && requestId !== undefined)
    command.error("--grant-usd and --refund-request cannot be combined.");
  if (refundUsd !== undefined && requestId === undefined) command.error("--refund-usd needs --refund-request.");
  if (requestId !== undefined && reference === undefined) command.error("--refund-request needs --reference.");
  if (requestId === undefined && (options.grantUsd === undefined) !== (reference === undefined))
    command.error("--grant-usd and --reference require each other.");
  const amountNanoUsd = options.grantUsd === undefined ? undefined : parseNanoUsd(options.grantUsd);
  const refundedNanoUsd = refundUsd === undefined ? undefined : parseNanoUsd(refundUsd);
  const database = connect();
  if (requestId !== undefined && reference !== undefined)
    return printRefund({
      accountId: id,
      requestId,
      reference,
      ...(refundedNanoUsd === undefined ? {} : { amountNanoUsd: refundedNanoUsd }),
    });

  const { isNew } = await createAccount(database, { id, name: options.name ?? id });
  print(isNew ? `Account ${id} created.` : `Account ${id} already exists.`);
  if (amountNanoUsd !== undefined && options.reference !== undefined) {
    const posted = await postCredit(database, { accountId: id, kind: "grant", amountNanoUsd, reference: options.reference });
    print(
      posted.isNew ? `Granted ${formatNanoUsd(amountNanoUsd)} USD.` : "This reference was already granted: nothing was posted.",
    );
  }
  if (limitChanges.length > 0) await changeLimits();
  const { postedNanoUsd } = await readBalance(database, id);
  print(`Balance: ${formatNanoUsd(postedNanoUsd)} USD.`);

  /** Changes the given limits, and leaves the others unchanged. */
  async function changeLimits(): Promise<void> {
    const effective = await database.transaction(async (transaction) => {
      const kept = await readAccountLimits(transaction, id);
      const changed = { ...kept?.operator, ...Object.fromEntries(limitChanges) };
      const named = Object.entries(changed).filter(([, value]) => value !== undefined);
      await setAccountLimits(transaction, {
        accountId: id,
        by: "operator",
        limits: limitsSchema.parse(Object.fromEntries(named)),
      });
      return (await readAccountLimits(transaction, id))?.effective ?? {};
    });
    for (const name of LIMIT_NAMES) if (effective[name] !== undefined) print(`Limit, ${LIMITS[name].label}: ${effective[name]}.`);
  }

  async function printRefund(refund: Refund): Promise<void> {
    const refunded = await refundRequest(database, refund);
    print(refunded.isNew ? "Refunded." : "This reference was already refunded: nothing was posted.");
    print(`Balance: ${formatNanoUsd(refunded.postedNanoUsd)} USD.`);
  }
}

interface Options {
  name?: string;
  grantUsd?: string;
  limit?: readonly string[];
  refundRequest?: string;
  refundUsd?: string;
  reference?: string;
}

/**
 * @param text such as `requestsPerMinute=60`, `spendPerDayUsd=5.00` or `tokensPerMinute=none`.
 * @throws GatewayError `invalid_request`.
 */
function readLimit(text: string): [string, number | string | undefined] {
  const [, name = "", value = ""] = /^(\w+)=(.+)$/.exec(text) ?? [];
  const known = LIMIT_NAMES.find((each) => each === name);
  if (known === undefined)
    throw new GatewayError("invalid_request", `--limit ${text}: write a name and a value, such as requestsPerMinute=60.`);
  if (value === "none") return [known, undefined];
  const isMoney = LIMITS[known].unit === "usd";
  const parsed = limitsSchema.safeParse({ [known]: isMoney ? value : Number(value) });
  if (!parsed.success)
    throw new GatewayError(
      "invalid_request",
      `--limit ${text}: the value is ${isMoney ? "an amount in USD such as 5.00" : "a whole number"}, or none.`,
    );
  return [known, parsed.data[known]];
}
