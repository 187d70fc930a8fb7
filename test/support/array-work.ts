/** Methods that look at one element after the other until they have an answer. */
const SEARCHES = ["find", "findIndex", "findLast", "findLastIndex", "some", "every", "filter"] as const;

/**
 * How many elements of arrays a piece of work looks at or copies, with the methods that hide a loop: unlike its time, the same in
 * each run. Work whose count doubles with its input is linear.
 */
export function countArrayWork(work: () => void): number {
  let elements = 0;
  const { prototype } = Array;
  const originals = new Map<PropertyKey, Function>();

  function count(name: PropertyKey, replace: (original: Function) => Function): void {
    const original: unknown = Reflect.get(prototype, name);
    if (typeof original !== "function") throw new Error(`arrays have no ${String(name)}`);
    originals.set(name, original);
    define(name, replace(original));
  }

  const define = (name: PropertyKey, value: Function) =>
    Object.defineProperty(prototype, name, { configurable: true, writable: true, value });

  for (const name of SEARCHES)
    count(
      name,
      (original) =>
        function (this: unknown, predicate: Function, ...rest: unknown[]): unknown {
          const counted = (...given: unknown[]): unknown => {
            elements += 1;
            return Reflect.apply(predicate, undefined, given);
          };
          return Reflect.apply(original, this, [counted, ...rest]);
        },
    );
  for (const name of ["slice", "concat", "toReversed", "toSorted"])
    count(
      name,
      (original) =>
        function (this: unknown, ...given: unknown[]): unknown {
          const copy: unknown = Reflect.apply(original, this, given);
          if (Array.isArray(copy)) elements += copy.length;
          return copy;
        },
    );
  for (const name of ["indexOf", "includes", "lastIndexOf"])
    count(
      name,
      (original) =>
        function (this: readonly unknown[], ...given: unknown[]): unknown {
          const found: unknown = Reflect.apply(original, this, given);
          elements += typeof found === "number" && found >= 0 ? found + 1 : this.length;
          return found;
        },
    );
  // A spread, or a loop.
  count(
    Symbol.iterator,
    (original) =>
      function (this: readonly unknown[]): unknown {
        elements += this.length;
        return Reflect.apply(original, this, []);
      },
  );
  try {
    work();
  } finally {
    for (const [name, original] of originals) define(name, original);
  }
  return elements;
}
