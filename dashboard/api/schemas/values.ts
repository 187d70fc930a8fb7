import * as z from "zod";
import { isPrintable, isVisible } from "../../../contract/printable.ts";
import { utcDay } from "../../usage/range.ts";
import { formatNanoUsd } from "../../../ledger/money.ts";

/** Formats of values in requests and answers. */

/** Always nine decimal places: amounts are stored in nano-USD. */
export const usd = z.string().meta({ description: "USD, as a decimal string", examples: ["4.998120000"] });

export const moment = z.string().meta({ description: "ISO 8601, UTC", examples: ["2026-11-21T10:31:17.000Z"] });

/** A text of one line from the caller. */
export function words(what: string, most: number) {
  const message = `${what} has 1 to ${most} characters.`;
  return z
    .string(message)
    .trim()
    .min(1, message)
    .max(most, message)
    .refine((text) => text === "" || isVisible(text), message)
    .refine(isPrintable, `${what} must be one line without control characters.`);
}

export const keyId = z
  .string()
  .regex(/^[0-9A-Za-z]{12}$/, "The ID of a key has 12 letters and digits.")
  .meta({ description: "The key's public ID", examples: ["AbCd5678WxYz"] });

export const projectId = z.uuid("Must be the ID of a project.");

export const model = words("A model's name", 128);

export const day = utcDay("Must be a UTC day such as 2026-11-21.");

export const pageQuery = {
  limit: z.coerce
    .number("Write a number.")
    .int("Write a whole number.")
    .min(1, "At least 1.")
    .max(200, "At most 200.")
    .default(50),
  cursor: z
    .string()
    .regex(/^[\w-]{1,400}$/, "This is not a cursor of this API.")
    .optional()
    .meta({ description: "`next_cursor` of the previous page" }),
};

export const nextCursor = z.string().nullable().meta({ description: "null on the last page" });

export function showMoment(at: Date): string {
  return at.toISOString();
}

export function showMomentOrNull(at: Date | null): string | null {
  return at === null ? null : showMoment(at);
}

export function showMoney(nanoUsd: bigint): string {
  return formatNanoUsd(nanoUsd);
}
