/** By so many bytes of an answer it is known whether it is text. */
export const LEAD_BYTES = 16;

/** JSON or a page, whose later characters may have any bytes; or a line of plain text. */
const TEXT = /^(?:\s*[[{<][\x20-\x7e\s]{7}|[\x20-\x7e\s]{16}|[\x20-\x7e\s]{1,15}$)/;

/**
 * Whether an answer that is said to be sound is text, such as an error of the server or of a proxy. Every format of sound has other
 * bytes among its first ones; bare samples too, which are near zero when a recording begins.
 * @param lead its first bytes: LEAD_BYTES or more, or all of them.
 */
export function isText(lead: Buffer): boolean {
  return TEXT.test(lead.toString("latin1", 0, 2 * LEAD_BYTES));
}
