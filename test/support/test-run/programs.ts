import { findBundles } from "../../../bundle/find.ts";
import { bundleName, PROGRAMS, type Programs } from "../../../bundle/programs.ts";

let found: Promise<Programs> | undefined;

/** The product's programs in the form in which the image and `npm start` run them. */
export function findPrograms(): Promise<Programs> {
  return (found ??= findBundles());
}

/** For words of commands in the image: gives `dist/extproc.mjs` as the file of this machine, and other words as they are. */
export async function findImagePrograms(): Promise<(word: string) => string> {
  const programs = await findPrograms();
  const files = new Map(PROGRAMS.map((program) => [`dist/${bundleName(program)}.mjs`, programs(program)]));
  return (word) => files.get(word) ?? word;
}
