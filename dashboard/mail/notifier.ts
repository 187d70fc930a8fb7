import type { AppDeps } from "../app-deps.ts";
import type { Letter } from "./letter.ts";

/**
 * Writes to people about what was done. Not waited for: what was done is done, whether or not the mail server takes the
 * letter.
 */
export type Notify = (letter: Letter) => void;

export function createNotifier({ mailer, log }: Pick<AppDeps, "mailer" | "log">): Notify {
  return (letter) => {
    if (mailer === undefined) return;
    void mailer
      .send(letter)
      .catch((error: unknown) => log.warn({ err: error }, "a letter about an account's safety could not be mailed"));
  };
}
