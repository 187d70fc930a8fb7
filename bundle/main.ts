import path from "node:path";
import process from "node:process";
import { findBundles } from "./find.ts";
import { copyPackages } from "./packages.ts";
import { writeBundles } from "./write.ts";

/**
 * Writes the product's programs as one file each:
 *
 *     node bundle/main.ts dist      into this folder, with the packages that they need, for an image
 *     node bundle/main.ts           to where `npm start` finds them
 */
const [directory] = process.argv.slice(2);
if (directory === undefined) await findBundles();
else {
  await writeBundles(path.resolve(directory));
  await copyPackages(path.resolve(directory));
}
