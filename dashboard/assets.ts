import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { brotliCompress, gzip } from "node:zlib";
import { negotiate } from "@fastify/accept-negotiator";
import type { FastifyInstance, FastifyRequest } from "fastify";

const FOLDER = path.join(import.meta.dirname, "assets");
const PREFIX = "/dashboard/assets/";

const TYPES: Readonly<Record<string, string>> = {
  ".css": "text/css; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".svg": "image/svg+xml",
};

/** What browsers load, by name. */
const ASSETS = new Map<string, Asset>([
  ...namesOf(FOLDER).map((file) => [path.relative(FOLDER, file), createAsset(file, readFileSync(file, "utf8"))] as const),
  // The design system's files joined in order, so that a page loads one style sheet.
  ["style.css", createAsset("style.css", filesOf(path.join(import.meta.dirname, "styles")).join("\n"))],
  // Reads Markdown for the playground.
  ["marked.js", createAsset("marked.js", readFileSync(fileURLToPath(import.meta.resolve("marked")), "utf8"))],
]);

/** Changes with any file, so browsers may cache it indefinitely. */
const VERSION = [...ASSETS]
  .reduce((hash, [name, { text }]) => hash.update(name).update(text), createHash("sha256"))
  .digest("hex")
  .slice(0, 12);

const FOREVER = `public, max-age=${365 * 24 * 60 * 60}, immutable`;

type AssetRequest = FastifyRequest<{ Params: { version: string; "*": string } }>;

/** Assets are in memory and compressed once: to serve one costs less than to find out who asks, so they are for everybody. */
export function serveAssets(app: FastifyInstance): void {
  app.get(`${PREFIX}:version/*`, { config: { isAsset: true } }, async (request: AssetRequest, reply) => {
    const { version, "*": name } = request.params;
    const found = ASSETS.get(name);
    if (found === undefined) return reply.status(404).type("text/plain; charset=utf-8").send("This file does not exist.\n");
    // During an update, pages of the other version ask here, too: nearly the right file, but not to be kept under that address.
    reply
      .header("cache-control", version === VERSION ? FOREVER : "no-store")
      .header("vary", "accept-encoding")
      .type(found.type);
    const encoding = negotiate(request.headers["accept-encoding"] ?? "", ENCODINGS);
    if (encoding === null) return reply.send(found.text);
    return reply.header("content-encoding", encoding).send(await found.compressed(encoding));
  });
}

/** The address of a file in assets/, of the style sheet, or of a library. */
export function asset(name: string): string {
  return `${PREFIX}${VERSION}/${name}`;
}

const COMPRESS = { br: promisify<string, Buffer>(brotliCompress), gzip: promisify<string, Buffer>(gzip) };

type Encoding = keyof typeof COMPRESS;

const ENCODINGS: Encoding[] = ["br", "gzip"];

interface Asset {
  type: string;
  text: string;
  /** When it is first asked for. */
  compressed(encoding: Encoding): Promise<Buffer>;
}

function createAsset(file: string, text: string): Asset {
  const type = TYPES[path.extname(file)];
  if (type === undefined) throw new Error(`${file} has no content type`);
  const made: Partial<Record<Encoding, Promise<Buffer>>> = {};
  return { type, text, compressed: (encoding) => (made[encoding] ??= COMPRESS[encoding](text)) };
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

declare module "fastify" {
  interface FastifyContextConfig {
    /** A file that every visitor's browser loads. */
    isAsset?: boolean;
  }
}
