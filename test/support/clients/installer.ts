import path from "node:path";
import type { Machine, Ran, RunOptions } from "./machine.ts";

export interface Installer {
  /** As `curl -fsSL … | sh -s -- …` does it, without a terminal. */
  run(
    machine: Machine,
    words: readonly string[],
    options?: RunOptions & { shell?: readonly string[]; key?: string | null },
  ): Promise<Ran>;
  script: string;
}

/** The program that the service itself serves. */
export async function fetchInstaller(stack: { baseUrl: string; apiKey: string }): Promise<Installer> {
  const response = await fetch(`${stack.baseUrl}/install.sh`);
  if (!response.ok) throw new Error(`${stack.baseUrl}/install.sh answered ${response.status}`);
  const script = await response.text();
  return {
    script,
    run(machine, words, { shell = ["sh"], key = stack.apiKey, environment, ...rest } = {}) {
      const [program = "sh", ...parameters] = shell;
      return machine.run(program, [...parameters, "-s", "--", ...words], {
        ...rest,
        input: script,
        environment: { ...(key === null ? {} : { MODEL_GATEWAY_API_KEY: key }), ...environment },
      });
    },
  };
}

/** A simulated model's script: each call answered by the tool before the next one. */
export function scriptOf(calls: readonly { tool: string; input: object }[]): string {
  return calls.map(({ tool, input }) => `[[sim tool=${tool} arguments=${encodeURIComponent(JSON.stringify(input))}]]`).join(" ");
}

export function noteIn(machine: Pick<Machine, "work">): string {
  return path.join(machine.work, "note.txt");
}
