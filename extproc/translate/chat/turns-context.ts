import type { Profile } from "../../../contract/profile.ts";
import type { ClientWords, Omitted } from "../conversation/conversation.ts";
import type { ToolNames } from "../conversation/names.ts";

/** What the writing of every turn needs. */
export interface TurnsContext {
  profile: Profile;
  /** The Model's own name: what its server signed goes back to it alone. */
  model: string;
  names: ToolNames;
  words: ClientWords;
  omitted: Omitted;
}
