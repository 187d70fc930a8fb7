import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import fastifyStatic from "@fastify/static";
import type { FastifyInstance } from "fastify";

const FOLDER = path.join(import.meta.dirname, "assets");
const PREFIX = "/dashboard/assets/";

/** Changes with any file: a browser may keep what it has for as long as it likes. */
const VERSION = readdirSync(FOLDER)
  .sort()
  .reduce((hash, name) => hash.update(name).update(readFileSync(path.join(FOLDER, name))), createHash("sha256"))
  .digest("hex")
  .slice(0, 12);

export async function serveAssets(app: FastifyInstance): Promise<void> {
  await app.register(fastifyStatic, {
    root: FOLDER,
    prefix: `${PREFIX}${VERSION}/`,
    index: false,
    immutable: true,
    maxAge: "1y",
  });
}

/** The address of a file in assets/. */
export function asset(name: string): string {
  return `${PREFIX}${VERSION}/${name}`;
}
