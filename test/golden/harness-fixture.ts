import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import * as z from "zod";
import type { Protocol } from "../../contract/protocol.ts";
import { PROFILE_NAMES, profileFlagsSchema } from "../../contract/profile.ts";

/**
 * A fixture is a folder `fixtures/<pair>/<name>/`:
 *
 * - `request.json`: the client's body, as sent.
 * - `setup.json` (optional): the upstream's preset and what else differs from the defaults below.
 * - any number of answers: `<answer>.json` for whole ones, `<answer>.sse` for streams (written with LF).
 * - `expected.txt`: the golden file, written by `npm run golden:update` only.
 */
export interface Fixture {
  /** `<pair>/<name>`. */
  readonly name: string;
  readonly client: Protocol;
  readonly upstream: Protocol;
  readonly request: Buffer;
  readonly setup: Setup;
  readonly answers: readonly Answer[];
  /** Absolute path of the golden file. */
  readonly golden: string;
}

export interface Answer {
  readonly name: string;
  readonly kind: "whole" | "stream";
  readonly bytes: Buffer;
}

const setupSchema = z.strictObject({
  profile: z.enum(PROFILE_NAMES).default("generic"),
  flags: profileFlagsSchema.partial().default({}),
  model: z.string().default("modelx-v4-pro"),
  upstreamModel: z.string().default("upstream-model"),
  maxOutputTokens: z.int().default(8192),
  headers: z.record(z.string(), z.string()).default({}),
});
type Setup = z.infer<typeof setupSchema>;

const PAIRS = {
  "chat-via-chat": { client: "chat", upstream: "chat" },
  "chat-via-messages": { client: "chat", upstream: "messages" },
  "messages-via-chat": { client: "messages", upstream: "chat" },
  "messages-via-messages": { client: "messages", upstream: "messages" },
  "responses-via-chat": { client: "responses", upstream: "chat" },
  "responses-via-messages": { client: "responses", upstream: "messages" },
  "chat-via-responses": { client: "chat", upstream: "responses" },
  "messages-via-responses": { client: "messages", upstream: "responses" },
  "responses-via-responses": { client: "responses", upstream: "responses" },
} as const satisfies Record<string, { client: Protocol; upstream: Protocol }>;

export type Pair = keyof typeof PAIRS;

const ROOT = join(import.meta.dirname, "fixtures");

/** Every fixture of a pair, in the order of names. */
export function loadFixtures(pair: Pair): Fixture[] {
  return foldersIn(join(ROOT, pair)).map((name) => loadFixture(`${pair}/${name}`, PAIRS[pair]));
}

function loadFixture(name: string, protocols: { client: Protocol; upstream: Protocol }): Fixture {
  const folder = join(ROOT, name);
  const files = readdirSync(folder).sort();
  const answers = files
    .filter((file) => !["request.json", "setup.json", "expected.txt"].includes(file))
    .map((file) => loadAnswer(folder, file));
  return {
    name,
    ...protocols,
    request: readFileSync(join(folder, "request.json")),
    setup: setupSchema.parse(files.includes("setup.json") ? JSON.parse(readFileSync(join(folder, "setup.json"), "utf8")) : {}),
    answers,
    golden: join(folder, "expected.txt"),
  };
}

function loadAnswer(folder: string, file: string): Answer {
  const bytes = readFileSync(join(folder, file));
  if (file.endsWith(".json")) return { name: file, kind: "whole", bytes };
  if (file.endsWith(".sse")) return { name: file, kind: "stream", bytes };
  throw new Error(`${join(folder, file)} is no part of a fixture: name it request.json, setup.json, *.json or *.sse.`);
}

function foldersIn(folder: string): string[] {
  const entries = readdirSync(folder, { withFileTypes: true });
  return entries.flatMap((entry) => (entry.isDirectory() ? [entry.name] : [])).sort();
}
