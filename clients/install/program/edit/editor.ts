import type { Operation } from "../../../operations.ts";
import type { SettingsFile } from "../../../tool.ts";

/** `profile` is a shell's start file, in which lines were only turned into comments. */
export type Format = SettingsFile["format"] | "profile";

/** Edits a text in place: every byte that the operations do not concern stays. Both throw `Refused`. */
export interface Editor {
  apply(text: string, operations: readonly Operation[], key: string): string;
  /** Takes out what is still the installer's; `before` is the text from before the installation, if the file existed. */
  revert(text: string, operations: readonly Operation[], before: string | undefined): string;
}
