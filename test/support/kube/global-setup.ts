import process from "node:process";
import { findKubeTools } from "./tools.ts";

/**
 * Builds the tools before the first test, whose time limits know nothing of minutes. A failure here would end the whole
 * run: it is left to the tests that need the tools, each of which asks for them again.
 */
export default async function setup(): Promise<void> {
  try {
    await findKubeTools({ environment: process.env, onProgress: (line) => console.log(line) });
  } catch (error) {
    console.error(error instanceof Error ? error.message : error);
  }
}
