import { findBundles } from "../../../bundle/find.ts";
import { bundlesIn, FOLDERS, PROGRAMS, type Programs } from "../../../bundle/programs.ts";
import { repositoryFiles } from "../documents/repository-files.ts";

/** As commands in the image name them. */
export const IN_IMAGE = bundlesIn("dist");

let found: Promise<Programs> | undefined;

/** The product's programs in the form in which the image and `npm start` run them. */
export function findPrograms(): Promise<Programs> {
  return (found ??= findBundles());
}

/** For words of commands in the image: gives `dist/extproc.mjs` as the file of this machine, and other words as they are. */
export async function findImagePrograms(): Promise<(word: string) => string> {
  const programs = await findPrograms();
  const files = new Map(PROGRAMS.map((program) => [IN_IMAGE(program), programs(program)]));
  return (word) => files.get(word) ?? word;
}

/** The programs' own modules, relative to the repository. */
export function findSources(): Promise<string[]> {
  return repositoryFiles(...FOLDERS.map((folder) => `${folder}/**/*.ts`));
}
