import * as z from "zod";
import { GatewayError } from "../../contract/errors.ts";
import { LIMIT_NAMES, limitsSchema, storedLimitsSchema, type Limits } from "../../contract/limits.ts";
import { parseNanoUsd } from "../money.ts";
import type { Actor } from "../people/actor.ts";
import { admitChange } from "../people/audit.ts";
import type { Queryable } from "../postgres/database.ts";
import { countEarlierSpend } from "./earlier-spend.ts";

/** Who set a limit of an account: its owners, or the operators of the service. */
export type LimitSetter = "owner" | "operator";

export interface AccountLimits {
  owner: Limits;
  operator: Limits;
  /** The lower of each: the values that requests are checked against. */
  effective: Limits;
}

const row = z.strictObject({ owner: storedLimitsSchema, operator: storedLimitsSchema });
const SELECT = "SELECT owner_limits AS owner, operator_limits AS operator FROM account WHERE id = $1";
const COLUMNS = { owner: "owner_limits", operator: "operator_limits" } as const satisfies Record<LimitSetter, string>;

/** @returns undefined if there is no such account. */
export async function readAccountLimits(database: Queryable, accountId: string): Promise<AccountLimits | undefined> {
  const [found] = await database.query({ text: SELECT, values: [accountId], row });
  if (found === undefined) return undefined;
  const [owner, operator] = [found.owner.limits, found.operator.limits];
  return { owner, operator, effective: lowestLimits(owner, operator) };
}

/**
 * Replaces all limits of one side; the other side's stay in force.
 * @param transaction two concurrent changes must not mix.
 * @returns false if there is no such account.
 * @throws GatewayError `invalid_request` when the account has a limit that only a newer version knows: it would be lost;
 * `rate_limited` for too many changes by owners in a day.
 */
export async function setAccountLimits(
  transaction: Queryable,
  {
    accountId,
    by,
    limits,
    personId = null,
    tokenId = null,
  }: Partial<Actor> & { accountId: string; by: LimitSetter; limits: Limits },
): Promise<boolean> {
  const [kept] = await transaction.query({ text: `${SELECT} FOR NO KEY UPDATE`, values: [accountId], row });
  if (kept === undefined) return false;
  const unknown = [...kept.owner.unknownLimits, ...kept.operator.unknownLimits];
  if (unknown.length > 0)
    throw new GatewayError(
      "invalid_request",
      `This account has a limit set by a newer version of the gateway (${unknown.join(", ")}). Its limits can be changed when the upgrade is complete.`,
    );
  if (by === "owner") await admitChange(transaction, "limits", { accountId, personId, tokenId }, "setLimits");
  const effective = lowestLimits(limits, (by === "owner" ? kept.operator : kept.owner).limits);
  await countEarlierSpend(transaction, { noun: "account", id: accountId, limits: effective });
  await transaction.execute(`UPDATE account SET ${COLUMNS[by]} = $2, limits = $3 WHERE id = $1`, [
    accountId,
    JSON.stringify(limits),
    JSON.stringify(effective),
  ]);
  return true;
}

/** The lower value of each limit; a limit set by only one side applies. */
export function lowestLimits(one: Limits, other: Limits): Limits {
  const lowest = LIMIT_NAMES.map((name) => [name, lower(one[name], other[name])] as const);
  return limitsSchema.parse(Object.fromEntries(lowest.filter(([, value]) => value !== undefined)));
}

function lower<T extends number | string>(one: T | undefined, other: T | undefined): T | undefined {
  if (one === undefined || other === undefined) return one ?? other;
  return amountOf(one) <= amountOf(other) ? one : other;
}

/** A count, or nano-USD. */
export function amountOf(limit: number | string): bigint {
  return typeof limit === "number" ? BigInt(limit) : parseNanoUsd(limit);
}
