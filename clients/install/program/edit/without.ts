/** A copy without the values at some paths, and without objects that are empty then. */
export function without(value: unknown, paths: readonly (readonly string[])[]): unknown {
  if (typeof value !== "object" || value === null || Array.isArray(value) || value instanceof Date) return value;
  const entries = Object.entries(value).flatMap(([name, child]): [string, unknown][] => {
    const below = paths.filter(([first]) => first === name).map((path) => path.slice(1));
    if (below.some((path) => path.length === 0)) return [];
    const kept = below.length === 0 ? child : without(child, below);
    return below.length > 0 && isEmpty(kept) ? [] : [[name, kept]];
  });
  return Object.fromEntries(entries);
}

function isEmpty(value: unknown): boolean {
  return value === null || (typeof value === "object" && Object.keys(value).length === 0);
}
