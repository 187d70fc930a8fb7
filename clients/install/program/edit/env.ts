import { linesOf } from "./lines.ts";
import type { Grammar } from "./statements.ts";

const NAME = "[A-Za-z_][A-Za-z0-9_]*";
/** Assignments and removals, in sh and in PowerShell. */
const STATEMENTS = [
  new RegExp(String.raw`^\s*(?:export\s+)?(${NAME})=`),
  new RegExp(String.raw`^\s*unset\s+(${NAME})\s*$`),
  new RegExp(String.raw`^\s*\$env:(${NAME})\s*=`, "i"),
  new RegExp(String.raw`^\s*Remove-Item\s+Env:(${NAME})\b`, "i"),
];

/** A statement is a line that sets or clears a variable; the last one counts. */
export const envGrammar: Grammar = {
  read(_text, lines) {
    const nameAt = (line: string): string | undefined =>
      STATEMENTS.map((pattern) => pattern.exec(line)?.[1]).find((name) => name !== undefined);
    const names = lines.lines.map(nameAt);
    const spansOf = (name: string) => {
      const at = names.lastIndexOf(name);
      return at < 0 ? [] : [{ from: at, to: at }];
    };
    return {
      spansOf,
      linesOf: (name) => spansOf(name).flatMap((span) => linesOf(lines, span)),
      indentOf: () => "",
      insertionPoint: () => ({ at: lines.lines.length }),
      removedWith: () => [],
      valueWithout: (left) => lines.lines.filter((_line, index) => !left.includes(names[index] ?? "")),
    };
  },
};
