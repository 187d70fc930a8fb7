import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import fastifyStatic from "@fastify/static";
import type { FastifyInstance } from "fastify";

const FOLDER = path.join(import.meta.dirname, "assets");
const PREFIX = "/dashboard/assets/";
const SHEET = "style.css";

/** The design system in the order of its files, as one: a page loads one style sheet. */
const styles = filesOf(path.join(import.meta.dirname, "styles")).join("\n");

/** Changes with any file: a browser may keep what it has for as long as it likes. */
const VERSION = [styles, ...readdirSync(FOLDER).sort(), ...filesOf(FOLDER)]
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
  app.get(asset(SHEET), (_request, reply) =>
    reply.type("text/css; charset=utf-8").header("cache-control", `public, max-age=${YEAR_SECONDS}, immutable`).send(styles),
  );
}

/** The address of a file in assets/, or of the style sheet. */
export function asset(name: string): string {
  return `${PREFIX}${VERSION}/${name}`;
}

function filesOf(folder: string): string[] {
  return readdirSync(folder)
    .sort()
    .map((name) => readFileSync(path.join(folder, name), "utf8"));
}
