import type { Logged } from "./command.ts";
import type { Room } from "./room.ts";

/** One line of the table. */
export interface Step {
  title: string;
  result: string;
  isGood: boolean;
  seconds: number;
  /** The end of what was said, for steps that went wrong. */
  lines: readonly string[];
}

export interface WalkOptions {
  start: string | undefined;
  test: string | undefined;
}

/** Clones the repository, starts the product twice, the second time without a network, and runs the tests. */
export async function walk(room: Room, { start, test }: WalkOptions): Promise<Step[]> {
  const cloned = judgeStep("git clone", await room.run("clone.sh"));
  if (!cloned.isGood) return [cloned];
  const steps: Step[] = [];
  if (start !== undefined) {
    const first = judgeStep(start, await room.run("start.sh", { command: start }));
    steps.push(first);
    if (first.isGood) {
      const again = "npm start";
      steps.push(judgeStep(`${again}, no network`, await room.run("start.sh", { command: again, network: "loopback" })));
    }
  }
  if (test !== undefined) steps.push(judgeTests(test, await room.run("test.sh", { command: test })));
  return steps;
}

function judgeStep(title: string, { code, lines, seconds }: Logged): Step {
  const result = lines.at(-1) ?? "said nothing";
  return { title, result, isGood: code === 0 && result === "ok", seconds, lines };
}

function judgeTests(title: string, { lines, seconds }: Logged): Step {
  const result = lines.at(-1) ?? "said nothing";
  return { title, result, isGood: /^[1-9]\d* passed, 0 failed$/.test(result), seconds, lines };
}
