import type { Effort, Verbosity } from "../../../contract/profile.ts";
import type { JsonObject } from "../../protocol/json/object.ts";
import type { RawJson } from "../../protocol/json/raw.ts";
import type { FieldPath } from "./field-path.ts";

/** The client's options for the answer. Each carries the client's name for it, so that an unsupported one can be named. */
export interface Wishes {
  readonly temperature: number | null;
  readonly topP: number | null;
  readonly topK: number | null;
  readonly stop: { readonly sequences: readonly string[]; readonly field: string };
  readonly thinking: ThinkingWish | null;
  readonly format: FormatWish | null;
  /** The user of the client, for the server's own accounting. */
  readonly user: { readonly id: string; readonly field: string } | null;
  /** The same person, as chat and Responses name them to detect abuse. */
  readonly safetyIdentifier: string | null;
  readonly tier: "auto" | "standard" | null;
  readonly verbosity: { readonly level: Verbosity; readonly field: string } | null;
  /**
   * Which requests should share a prompt cache, and for how long it is kept: chat and Responses use the same names and values.
   */
  readonly promptCache: {
    readonly key: string | null;
    readonly retention: string | null;
    /** The prompt's cache marks give its lifetime. */
    readonly isInMarks: boolean;
  };
}

export interface ThinkingWish {
  /** "auto" leaves it to the model. */
  readonly mode: "on" | "off" | "auto";
  readonly effort: Exclude<Effort, "none"> | null;
  readonly budgetTokens: number | null;
  /** The fields that set it. */
  readonly fields: readonly string[];
  /** The one of them that sets the effort. */
  readonly effortField: string | null;
}

export type FormatWish =
  | { readonly type: "json_object" }
  /** The schema as written and as parsed, and the locations of the option and its schema. */
  | {
      readonly type: "json_schema";
      readonly schema: RawJson;
      readonly parsed: JsonObject;
      /** Chat and Responses show both to the model; null if the client gives none. */
      readonly name: string | null;
      readonly description: string | null;
      /** Null if the client leaves it to the server. */
      readonly strict: boolean | null;
      readonly at: FieldPath;
      readonly schemaAt: FieldPath;
    };

/** Chat and Responses use words where messages counts tokens: the nearest word. */
export function budgetEffort(budget: number | null): Exclude<Effort, "none"> | null {
  if (budget === null) return null;
  if (budget <= 512) return "minimal";
  if (budget <= 1_024) return "low";
  if (budget <= 8_192) return "medium";
  return budget <= 24_576 ? "high" : "xhigh";
}
