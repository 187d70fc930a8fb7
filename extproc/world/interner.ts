import { createHash } from "node:crypto";

/** One object for all equal values that are in use. */
export interface Interner<Value extends object> {
  /** The object to keep in place of `value`; to be released as often as it was taken. */
  take(value: Value): Value;
  release(value: Value): void;
  readonly size: number;
}

const LONGEST_TEXT = 64;

/** @param textOf the same for equal values alone. */
export function createInterner<Value extends object>(textOf: (value: Value) => string): Interner<Value> {
  const byText = new Map<string, { value: Value; uses: number }>();
  const keyOf = (value: Value) => {
    const text = textOf(value);
    // A long text would take more than the value that it stands for.
    return text.length <= LONGEST_TEXT ? text : createHash("sha256").update(text).digest("base64");
  };

  return {
    take(value) {
      const key = keyOf(value);
      const known = byText.get(key);
      if (known !== undefined) {
        known.uses++;
        return known.value;
      }
      byText.set(key, { value, uses: 1 });
      return value;
    },
    release(value) {
      const key = keyOf(value);
      const known = byText.get(key);
      if (known === undefined) return;
      known.uses--;
      if (known.uses === 0) byText.delete(key);
    },
    get size() {
      return byText.size;
    },
  };
}
