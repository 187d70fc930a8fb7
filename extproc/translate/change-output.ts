import type { StreamTranslation } from "./translation.ts";

/**
 * The same stream with its output changed, but for the error events of the gateway.
 * @param change gets all that the client is to read, in pieces; the same buffer leaves a piece as it is.
 */
export function changeOutput(machine: StreamTranslation, change: (output: Buffer) => Buffer): StreamTranslation {
  return {
    ...machine,
    push(chunk) {
      const output = machine.push(chunk);
      if (output !== "unchanged") return change(output);
      const changed = change(chunk);
      return changed === chunk ? output : changed;
    },
    end: () => change(machine.end()),
    stopForCredit: () => change(machine.stopForCredit()),
  };
}
