import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import type { Protocol } from "../../contract/protocol.ts";

/** The good examples that inputs are made from; `{{name}}` stands for a value that only the run knows. */
export function readCorpus(name: "port" | `upstream-${Protocol}`, values: Record<string, string> = {}): Buffer[] {
  const folder = path.join(import.meta.dirname, "corpus", name);
  return readdirSync(folder)
    .sort()
    .map((file) => {
      const text = readFileSync(path.join(folder, file), "latin1");
      return Buffer.from(
        text.replace(/\{\{(\w+)\}\}/g, (_whole, key: string) => values[key] ?? ""),
        "latin1",
      );
    });
}
