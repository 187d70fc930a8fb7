import process from "node:process";
import { inBackground } from "../test-run/background.ts";
import { findClientPackages } from "./packages.ts";

/** Fetches the packages, once, while files of other projects run. */
export default function setup(): () => Promise<void> {
  return inBackground(() => findClientPackages({ environment: process.env, onProgress: (line) => console.log(line) }));
}
