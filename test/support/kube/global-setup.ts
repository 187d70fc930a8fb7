import process from "node:process";
import type { TestProject } from "vitest/node";
import { inBackground } from "../test-run/background.ts";
import { findPromtool } from "../tools/promtool.ts";
import { findKubeTools } from "./tools.ts";

/** Builds the tools, once, while files of other projects run. */
export default function setup({ name }: TestProject): () => Promise<void> {
  const options = { environment: process.env, onProgress: (line: string) => console.log(line) };
  return inBackground(async () => {
    await findKubeTools(options);
    if (name === "chart") await findPromtool(options);
  });
}
