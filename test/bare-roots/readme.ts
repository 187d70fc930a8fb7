import { readFile } from "node:fs/promises";
import path from "node:path";

/** The two commands of "Try it", word by word. */
export async function readCommands(repository: string): Promise<{ start: string; test: string }> {
  const text = await readFile(path.join(repository, "README.md"), "utf8");
  const commands = [...text.matchAll(/^(npm ci && npm \S+)/gm)].map(([, command = ""]) => command);
  const find = (script: string): string => {
    const found = commands.find((command) => command.endsWith(`npm ${script}`));
    if (found === undefined) throw new Error(`README.md has no line that begins with "npm ci && npm ${script}".`);
    return found;
  };
  return { start: find("start"), test: find("test") };
}
