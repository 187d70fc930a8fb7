import type { Effort } from "../../../contract/profile.ts";
import type { JsonObject } from "../../protocol/json/object.ts";
import type { RawJson } from "../../protocol/json/raw.ts";
import type { FieldPath } from "./field-path.ts";

/** What the client asks of the answer. A wish carries the client's name for it: what a server cannot grant is named so. */
export interface Wishes {
  readonly temperature: number | null;
  readonly topP: number | null;
  readonly topK: number | null;
  readonly stop: { readonly sequences: readonly string[]; readonly field: string };
  readonly thinking: ThinkingWish | null;
  readonly format: FormatWish | null;
  /** Who uses the client, for the server's own accounting. */
  readonly user: { readonly id: string; readonly fields: readonly string[] } | null;
  readonly tier: "auto" | "standard" | null;
}

export interface ThinkingWish {
  /** "auto" leaves it to the model. */
  readonly mode: "on" | "off" | "auto";
  readonly effort: Exclude<Effort, "none"> | null;
  readonly budgetTokens: number | null;
  /** The fields that say so. */
  readonly fields: readonly string[];
  /** The one of them that says the effort. */
  readonly effortField: string | null;
}

export type FormatWish =
  | { readonly type: "json_object" }
  /** The schema as written and as parsed, and where the wish and its schema stand. */
  | {
      readonly type: "json_schema";
      readonly schema: RawJson;
      readonly parsed: JsonObject;
      readonly at: FieldPath;
      readonly schemaAt: FieldPath;
    };

/** Chat and Responses know words where messages counts tokens: the nearest word. */
export function budgetEffort(budget: number | null): Exclude<Effort, "none"> | null {
  if (budget === null) return null;
  if (budget <= 512) return "minimal";
  if (budget <= 1_024) return "low";
  if (budget <= 8_192) return "medium";
  return budget <= 24_576 ? "high" : "xhigh";
}
