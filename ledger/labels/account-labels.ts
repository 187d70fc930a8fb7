import * as z from "zod";
import { GatewayError } from "../../contract/errors.ts";
import type { Queryable, Reader } from "../postgres/database.ts";
import { knownOrOther, type OrOther } from "../postgres/known-or-other.ts";

/** Whether an account's requests keep their tags and end users. "erasing": no more, and the stored ones are being deleted. */
type LabelKeeping = "off" | "kept" | "erasing";

export interface AccountLabels {
  keeping: OrOther<LabelKeeping>;
  /** Whether there are any to show, kept now or before. */
  hasSome: boolean;
}

const row = z.strictObject({ keeping: knownOrOther(["off", "kept", "erasing"]), hasSome: z.boolean() });

export async function readAccountLabels(database: Reader, accountId: string): Promise<AccountLabels> {
  const [found] = await database.query({
    text: `SELECT labels AS keeping, EXISTS (SELECT FROM usage_by_label WHERE account_id = $1) AS "hasSome" FROM account WHERE id = $1`,
    values: [accountId],
    row,
  });
  if (found === undefined) throw new GatewayError("not_found", "This account does not exist.");
  return found;
}

/**
 * Takes effect within a second for new requests; stored labels stay.
 * @returns whether anything changed.
 * @throws GatewayError `invalid_request` while earlier labels are being deleted.
 */
export async function keepLabels(
  database: Queryable,
  { accountId, isOn }: { accountId: string; isOn: boolean },
): Promise<boolean> {
  const { keeping } = await readAccountLabels(database, accountId);
  if (keeping === "erasing" && isOn)
    throw new GatewayError(
      "invalid_request",
      "The tags and end users of this account are being deleted. Turn them on again in a few minutes.",
      { field: "is_on" },
    );
  if (keeping === "erasing") return false;
  const wanted: LabelKeeping = isOn ? "kept" : "off";
  return (await database.execute("UPDATE account SET labels = $2 WHERE id = $1 AND labels <> $2", [accountId, wanted])) > 0;
}

/** Keeps no new labels, and deletes the stored ones within minutes (upkeep.ts). @returns false if that is already under way. */
export async function eraseLabels(database: Queryable, accountId: string): Promise<boolean> {
  return (await database.execute("UPDATE account SET labels = 'erasing' WHERE id = $1 AND labels <> 'erasing'", [accountId])) > 0;
}
