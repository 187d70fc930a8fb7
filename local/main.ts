import { enableCompileCache } from "node:module";
import process from "node:process";
import { pathToFileURL } from "node:url";
import { findBundles } from "../bundle/find.ts";
import { SOURCES } from "../bundle/programs.ts";
import { compiledDirectory } from "./cache-directory.ts";
import type * as program from "./start.ts";

// Where packages cannot be written, or on a machine that the bundler does not support, Node.js loads every module itself.
const programs = await findBundles({
  onWrite: () => console.log("Bundling the programs …"),
  staysInUse: true,
}).catch(() => SOURCES);
// Unless npm start has: without it, stripping the types of the few files until here takes 20 MiB.
enableCompileCache(compiledDirectory(process.env));
const { start }: typeof program = await import(pathToFileURL(programs("local/start.ts")).href);
await start({ words: process.argv.slice(2), environment: process.env, programs });
