/** A member of what may be no object. */
export function member(holder: unknown, name: string): unknown {
  return typeof holder === "object" && holder !== null && Object.hasOwn(holder, name) ? Reflect.get(holder, name) : undefined;
}

/** NaN if the server wrote something that is no count: the meter tells that from a number that is absent. */
export function count(holder: unknown, name: string): number | undefined {
  const value = member(holder, name);
  if (value === undefined || value === null) return undefined;
  return typeof value === "number" && Number.isSafeInteger(value) && value >= 0 ? value : Number.NaN;
}
