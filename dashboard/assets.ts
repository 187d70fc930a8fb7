import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import fastifyStatic from "@fastify/static";
import type { FastifyInstance } from "fastify";

const FOLDER = path.join(import.meta.dirname, "assets");
const PREFIX = "/dashboard/assets/";

/** Files that are built from others, or come from a package. */
const MADE = {
  /** The design system's files joined in order, so that a page loads one style sheet. */
  "style.css": { type: "text/css", text: filesOf(path.join(import.meta.dirname, "styles")).join("\n") },
  /** Reads Markdown for the playground. */
  "marked.js": { type: "text/javascript", text: readFileSync(fileURLToPath(import.meta.resolve("marked")), "utf8") },
} as const;

/** Changes with any file, so browsers may cache it indefinitely. */
const VERSION = [
  ...Object.values(MADE).map(({ text }) => text),
  ...namesOf(FOLDER).map((file) => path.relative(FOLDER, file)),
  ...filesOf(FOLDER),
]
  .reduce((hash, text) => hash.update(text), createHash("sha256"))
  .digest("hex")
  .slice(0, 12);

const YEAR_SECONDS = 365 * 24 * 60 * 60;

export async function serveAssets(app: FastifyInstance): Promise<void> {
  await app.register(fastifyStatic, {
    root: FOLDER,
    prefix: `${PREFIX}${VERSION}/`,
    index: false,
    immutable: true,
    maxAge: "1y",
  });
  for (const [name, { type, text }] of Object.entries(MADE)) {
    app.get(asset(name), (_request, reply) =>
      reply.type(`${type}; charset=utf-8`).header("cache-control", `public, max-age=${YEAR_SECONDS}, immutable`).send(text),
    );
  }
}

/** The address of a file in assets/, of the style sheet, or of a library. */
export function asset(name: string): string {
  return `${PREFIX}${VERSION}/${name}`;
}

/** Files of a folder, recursively. */
function namesOf(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => path.join(entry.parentPath, entry.name))
    .sort();
}

function filesOf(folder: string): string[] {
  return namesOf(folder).map((file) => readFileSync(file, "utf8"));
}
