import type { Operation } from "../../../operations.ts";
import type { SettingsFile } from "../../../tool.ts";

/** `profile` is a shell's start file, in which lines were only commented out. */
export type Format = SettingsFile["format"] | "profile";

/** Edits a text in place: all bytes outside the operations stay. Both throw `Refused`. */
export interface Editor {
  apply(text: string, operations: readonly Operation[], key: string): string;
  /** Removes the installer's remaining settings; `before` is the text from before the installation, if the file existed. */
  revert(text: string, operations: readonly Operation[], before: string | undefined): string;
}
