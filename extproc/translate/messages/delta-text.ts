import { parseObject } from "../../protocol/json/object.ts";
import { rawMember } from "../../protocol/json/scan.ts";
import { findTextMember } from "../event-template.ts";
import { messagesOutput, onlyText } from "../readable-output.ts";

/** What a delta's text may be called. */
const TEXTS = ["text", "thinking", "partial_json"];

/** The only text of a delta that contains nothing else. */
export function findDeltaText(data: Buffer): Buffer | undefined {
  const json = parseObject(data.toString("utf8"));
  if (json === null || json["type"] !== "content_block_delta" || Object.hasOwn(json, "error")) return undefined;
  const text = onlyText(messagesOutput(json["delta"]));
  return text === undefined ? undefined : findTextMember(rawMember(data, "delta"), TEXTS, text);
}
