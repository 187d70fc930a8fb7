import type { Profile } from "../../../contract/profile.ts";
import type { ClientWords, Omitted } from "../conversation/conversation.ts";
import type { ToolNames } from "../conversation/names.ts";

/** Context for writing every turn. */
export interface TurnsContext {
  profile: Profile;
  /** The Model's own name: signed content goes back only to the server that signed it. */
  model: string;
  names: ToolNames;
  words: ClientWords;
  omitted: Omitted;
}
