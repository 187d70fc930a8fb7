import process from "node:process";
import { findClientPackages } from "./packages.ts";

/** Fetches the packages before the first test, whose time limits know nothing of minutes. */
export default async function setup(): Promise<void> {
  await findClientPackages({ environment: process.env, onProgress: (line) => console.log(line) });
}
