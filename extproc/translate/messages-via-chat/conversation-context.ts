import type { Profile } from "../../../contract/profile.ts";
import type { EmbeddedJson } from "../../protocol/json/bounds.ts";
import type { Turn } from "../../protocol/messages/request.ts";
import { messagesToolId, originalToolId, shortToolId } from "../conversation/ids.ts";
import type { ToolNames } from "../conversation/names.ts";
import type { DroppedFields } from "./dropped-fields.ts";
import type { RequestText } from "./request-text.ts";

/** What the translation of every turn needs. */
export interface ConversationContext {
  profile: Profile;
  names: ToolNames;
  text: RequestText;
  embedded: EmbeddedJson;
  dropped: DroppedFields;
}

/** A turn with its place in the request, for errors and raw text. */
export interface PlacedTurn {
  turn: Turn;
  position: number;
}

/** The upstream's own id of a tool call, as far as the upstream accepts it. */
export function upstreamToolId(id: string, profile: Profile): string {
  const original = originalToolId(id);
  switch (profile.toolIds) {
    case "any":
      return original;
    case "openai40":
      return shortToolId(original);
    case "messages":
      return messagesToolId(original);
  }
}
