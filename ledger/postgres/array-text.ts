/** A value of an array that Postgres gets. */
export type ArrayElement = string | number | bigint | boolean | Date | null;

/**
 * The text of a Postgres array. The database's client would write each element on its own, by several replacements and a dozen
 * parts of a date, which takes longer than all else about a batch of settlements.
 * @throws RangeError for a Date that is no time.
 */
export function arrayText(elements: readonly ArrayElement[]): string {
  let text = "";
  for (const element of elements) text += `${text === "" ? "{" : ","}${elementText(element)}`;
  return text === "" ? "{}" : `${text}}`;
}

function elementText(element: ArrayElement): string {
  if (element === null) return "NULL";
  if (typeof element === "string") return `"${/["\\]/.test(element) ? element.replaceAll(/["\\]/g, "\\$&") : element}"`;
  return element instanceof Date ? timeText(element) : String(element);
}

/** Of years that ISO 8601 writes with a sign, Postgres reads those after Christ without it, and the others by their era. */
function timeText(time: Date): string {
  const iso = time.toISOString();
  const year = time.getUTCFullYear();
  if (year > 0 && year < 10_000) return iso;
  const rest = iso.slice(iso.indexOf("-", 1));
  return year > 0 ? `${year}${rest}` : `"${String(1 - year).padStart(4, "0")}${rest} BC"`;
}
