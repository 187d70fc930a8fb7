import type { RawJson } from "../../protocol/json/raw.ts";

/** A piece of a messages request: a content block or a part of one. */
export type Block = { readonly [name: string]: Block | readonly Block[] | string | number | boolean | RawJson | undefined };

export interface Turn {
  role: "user" | "assistant" | "system";
  content: Block[];
}
