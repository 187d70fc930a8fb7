/** A member of a value that may not be an object. */
export function member(holder: unknown, name: string): unknown {
  return typeof holder === "object" && holder !== null && Object.hasOwn(holder, name) ? Reflect.get(holder, name) : undefined;
}

export function isCount(value: unknown): value is number {
  return typeof value === "number" && Number.isSafeInteger(value) && value >= 0;
}

/** What a part takes from the total that includes it: nothing if the server wrote something other than a count. */
export function countedPart(part: number): number {
  return Number.isNaN(part) ? 0 : part;
}

/** NaN if the server wrote something other than a count: the meter distinguishes that from a missing number. */
export function count(holder: unknown, name: string): number | undefined {
  const value = member(holder, name);
  if (value === undefined || value === null) return undefined;
  return isCount(value) ? value : Number.NaN;
}
