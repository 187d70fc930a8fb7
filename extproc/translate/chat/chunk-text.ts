import { chatUsage, type ChatUsageOptions } from "../../protocol/chat/usage.ts";
import { parseObject, type JsonObject } from "../../protocol/json/object.ts";
import { rawMember, scanElements } from "../../protocol/json/scan.ts";
import { findTextMember } from "../event-template.ts";
import { chatOutput, objectsIn, onlyText } from "../readable-output.ts";

const NOTHING = Buffer.alloc(0);

/** What a delta's text may be called. */
const TEXTS = ["content", "reasoning_content", "reasoning"];

/** The only text of a chunk that contains nothing else: a finish, usage or an error each count as something else. */
export function findChunkText(data: Buffer, options: ChatUsageOptions): Buffer | undefined {
  const json = parseObject(data.toString("utf8"));
  const choices = json?.["choices"];
  if (json === null || !Array.isArray(choices) || choices.length !== 1) return undefined;
  if (Object.hasOwn(json, "error") || json["object"] === "error" || chatUsage(json, options) !== undefined) return undefined;
  const [choice] = objectsIn(choices);
  const text = onlyText(chatOutput(json));
  if (choice === undefined || isFinished(choice) || text === undefined) return undefined;
  const delta = rawMember(scanElements(rawMember(data, "choices") ?? NOTHING)[0], "delta");
  return findTextMember(delta, TEXTS, text);
}

/** Some servers send an empty reason with every chunk. */
export function isFinished({ finish_reason: reason }: JsonObject): boolean {
  return typeof reason === "string" && reason !== "";
}
