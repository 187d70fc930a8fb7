import { readFile } from "node:fs/promises";
import path from "node:path";
import { rolldown } from "rolldown";

const ROOT = path.join(import.meta.dirname, "../../..");

/** The installer's program as one script for Node.js 18 or later, in ASCII, with the licences of the libraries in it. */
export async function bundleInstaller(): Promise<string> {
  const bundle = await rolldown({
    input: path.join(ROOT, "clients/install/program/main.ts"),
    platform: "node",
    resolve: { mainFields: ["module", "main"] },
    transform: { target: "node18" },
    plugins: [withoutLinterKeys],
  });
  const { output } = await bundle.generate({ format: "cjs", minify: true, comments: false });
  const [chunk, ...others] = output;
  if (others.length > 0) throw new Error("The installer's program is more than one file.");
  const included = Object.entries(chunk.modules).filter(([, { renderedLength }]) => renderedLength > 0);
  const packages = new Set(included.flatMap(([id]) => /.*\/node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(id)?.[1] ?? []));
  const licences = await Promise.all([...packages].sort().map(licenceOf));
  return inAscii([chunk.code.trim(), ...licences, ""].join("\n"));
}

/** The TOML parser exports a table for linters, which needs a package that the program does not. */
const withoutLinterKeys = {
  name: "without-linter-keys",
  resolveId: (id: string) => (id === "eslint-visitor-keys" ? "\0linter-keys" : null),
  load: (id: string) => (id === "\0linter-keys" ? "export const unionWith = (keys) => keys;" : null),
};

async function licenceOf(name: string): Promise<string> {
  const folder = path.join(ROOT, "node_modules", name);
  const texts = await Promise.all(
    ["LICENSE", "LICENSE.md"].map((file) => readFile(path.join(folder, file), "utf8").catch(() => undefined)),
  );
  const text = texts.find((each) => each !== undefined);
  if (text === undefined) throw new Error(`${name} has no licence file, which must be served with its code.`);
  return `/* ${name}\n${text.trim().replaceAll("*/", "* /")}\n*/`;
}

/** PowerShell 5.1 reads a script without a byte order mark in the machine's own encoding. */
function inAscii(code: string): string {
  return code.replaceAll(
    /[^\t\n\x20-\x7E]/g,
    (character) => String.raw`\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}
