import type { Profile } from "../../../contract/profile.ts";
import type { ClientWords, Omitted } from "../conversation/conversation.ts";
import { messagesToolId, shortToolId } from "../conversation/ids.ts";
import type { ToolNames } from "../conversation/names.ts";

/** What the writing of every turn needs. */
export interface TurnsContext {
  profile: Profile;
  names: ToolNames;
  words: ClientWords;
  omitted: Omitted;
}

/** The id of a tool call as far as the server accepts it. */
export function writeToolId(id: string, { toolIds }: Profile): string {
  switch (toolIds) {
    case "any":
      return id;
    case "openai40":
      return shortToolId(id);
    case "messages":
      return messagesToolId(id);
  }
}
