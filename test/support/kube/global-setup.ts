import process from "node:process";
import { findKubeTools } from "./tools.ts";

/** Builds the tools before the first test, whose time limits know nothing of minutes. */
export default async function setup(): Promise<void> {
  await findKubeTools({ environment: process.env, onProgress: (line) => console.log(line) });
}
