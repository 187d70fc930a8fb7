import { readFileSync } from "node:fs";
import * as z from "zod";
import type { Usage } from "../../../contract/usage.ts";
import { mintToolId, saltedToolId } from "../../../extproc/translate/conversation/ids.ts";
import { GOLDEN_NOW_SECONDS, GOLDEN_REQUEST_ID } from "../../golden/harness-run.ts";

/** One streamed answer in a golden file. */
export interface GoldenStream {
  clientText: string;
  outcome: string;
  isEstimated: boolean;
  usage: Usage;
}

const usageSchema = z.strictObject({
  inputTokens: z.int(),
  cachedInputTokens: z.int(),
  cacheWriteTokens: z.int(),
  outputTokens: z.int(),
  reasoningTokens: z.int(),
});

const SECTION = /^===== client gets, for (.+)$/m;
const ENDING = /===== outcome: (\w+)\n===== usage( \(estimated\))?: (\{.*\})\n$/;

/** @throws Error if the file has no such stream. */
export function readGoldenStream(file: string, answer: string): GoldenStream {
  const parts = readFileSync(file, "utf8").split(SECTION);
  const section = parts[parts.indexOf(answer) + 1]?.replace(/^\n/, "").replace(/\n*$/, "\n");
  const ending = ENDING.exec(section ?? "");
  if (section === undefined || ending === null) throw new Error(`${file} has no stream ${answer}`);
  const [, outcome = "", estimated, usage = "{}"] = ending;
  return {
    clientText: section.slice(0, ending.index),
    outcome,
    isEstimated: estimated !== undefined,
    usage: usageSchema.parse(JSON.parse(usage)),
  };
}

interface Run {
  requestId: string;
  /** The names that the client asked for: then, and in the golden file. */
  model: string;
  goldenModel: string;
}

/** More calls than any fixture has. */
const MAX_CALLS = 16;
/** Seconds that `created` may lie in the past. */
const JUST_NOW_SECONDS = 600;

/**
 * What a client got, as the golden file would have it: the request's id, the time and the model's name are replaced, and
 * whatever derives from them.
 */
export function toGolden(text: string, { requestId, model, goldenModel }: Run): string {
  let golden = text
    .replaceAll(/"Z3cxO[\w+/=-]+"/g, (signature) => resign(signature, model, goldenModel))
    .replaceAll(/"gws?1\.[\w-]+/g, (packed) => repack(packed, model, goldenModel))
    .replaceAll(model, goldenModel)
    .replaceAll(requestId, GOLDEN_REQUEST_ID)
    .replaceAll(requestId.replaceAll("-", ""), GOLDEN_REQUEST_ID.replaceAll("-", ""))
    .replaceAll(/"(created|created_at|completed_at)":(\d+)/g, (written, name, seconds) =>
      isNow(Number(seconds)) ? `"${name}":${GOLDEN_NOW_SECONDS}` : written,
    );
  for (let index = 0; index < MAX_CALLS; index += 1) {
    for (const derive of [mintedCall, mintedUse, salted]) {
      golden = golden.replaceAll(derive({ requestId, index }), derive({ requestId: GOLDEN_REQUEST_ID, index }));
    }
  }
  return golden;
}

interface Salt {
  requestId: string;
  index: number;
}

const mintedCall = (salt: Salt): string => mintToolId("call_", salt);
const mintedUse = (salt: Salt): string => mintToolId("toolu_", salt);
const salted = (salt: Salt): string => saltedToolId("x", salt).slice(0, -1);

/** The gateway's own signatures hold the model's name. */
function resign(signature: string, model: string, goldenModel: string): string {
  const signed = Buffer.from(signature.slice(1, -1), "base64").toString("utf8");
  return `"${Buffer.from(signed.replace(model, goldenModel)).toString("base64")}"`;
}

/** So do the reasoning that a Responses client sends back, and what names the model beside a server's own signature. */
function repack(packed: string, model: string, goldenModel: string): string {
  const [marker = "", content = ""] = packed.slice(1).split(".");
  const thought = Buffer.from(content, "base64url").toString("utf8");
  return `"${marker}.${Buffer.from(thought.replace(model, goldenModel)).toString("base64url")}`;
}

function isNow(seconds: number): boolean {
  const age = Date.now() / 1000 - seconds;
  return age >= -1 && age < JUST_NOW_SECONDS;
}
