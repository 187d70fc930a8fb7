import type { StreamTranslation } from "../../../extproc/translate/translation.ts";

/** A stream of which nothing comes, but for what a test scripts. */
export function scriptedTranslation(machine: Partial<StreamTranslation>): StreamTranslation {
  return {
    push: () => "unchanged",
    end: () => Buffer.alloc(0),
    fail: () => Buffer.alloc(0),
    stopForCredit: () => Buffer.alloc(0),
    isEnding: () => false,
    outcome: () => "open",
    failure: () => null,
    heldBytes: () => 0,
    ...machine,
  };
}
