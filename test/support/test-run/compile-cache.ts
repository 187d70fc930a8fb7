import { readdir, rm } from "node:fs/promises";
import path from "node:path";
import process from "node:process";
import { cacheDirectory } from "../../../local/cache-directory.ts";

/** Not the one of `npm start`, whose parts would have to be compiled again after each run of tests. */
const DIRECTORY = path.join(cacheDirectory(process.env), "compiled-by-tests");
const WEEK_MS = 7 * 86_400_000;
/** Node.js never removes what it has compiled, and every change of a file adds to it. */
const WEEK = `week-${Math.floor(Date.now() / WEEK_MS)}`;

/** For the environment of programs that tests start: they compile what they load once for all. */
export const COMPILE_CACHE = { NODE_COMPILE_CACHE: path.join(DIRECTORY, WEEK) };

/** Removes what was compiled before this week. A program that still uses it compiles again; what it writes meanwhile stays. */
export async function forgetEarlierWeeks(directory = DIRECTORY): Promise<void> {
  const names = await readdir(directory).catch(() => []);
  const earlier = names.filter((name) => name !== WEEK);
  await Promise.allSettled(earlier.map((name) => rm(path.join(directory, name), { recursive: true, force: true })));
}
