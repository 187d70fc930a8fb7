import type { RawJson } from "../../protocol/json/raw.ts";
import type { CacheMark } from "../conversation/turn.ts";

/** A piece of a messages request: a content block or a part of one. */
export type Block = { readonly [name: string]: Block | readonly Block[] | string | number | boolean | RawJson | undefined };

export interface WireTurn {
  role: "user" | "assistant" | "system";
  content: Block[];
}

export function cacheMember(mark: CacheMark | null): Block {
  if (mark === null) return {};
  return { cache_control: mark.ttl === null ? { type: "ephemeral" } : { type: "ephemeral", ttl: mark.ttl } };
}
