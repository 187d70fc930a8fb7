import { closeSync, openSync } from "node:fs";
import { createLogOutput } from "../../runtime/log-output.ts";

/** A log file that this process writes itself, from the lines of a child. */
export interface LineLog {
  write(line: string): void;
  end(): void;
}

/** A full disk loses lines, but neither the child nor this process. */
export function openLineLog(file: string): LineLog {
  const descriptor = openSync(file, "a");
  const output = createLogOutput({
    descriptor,
    gatherBytes: 0,
    pageBytes: 64 * 1024,
    describeDropped: (lines) => `${lines} lines were dropped: the disk was full\n`,
  });
  return {
    write: output.write,
    end() {
      output.finish();
      closeSync(descriptor);
    },
  };
}
