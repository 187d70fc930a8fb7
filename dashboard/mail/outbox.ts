import type { Letter, Mailer } from "./mailer.ts";

/** The letters that were written last, newest first; one machine's own use: anybody can read them. */
export interface Outbox {
  readonly letters: readonly { letter: Letter; at: Date }[];
}

const MOST_LETTERS = 50;

/** Keeps letters in memory instead of sending them. */
export function createOutbox(): Mailer {
  let letters: Outbox["letters"] = [];
  return {
    async send(letter) {
      letters = [{ letter, at: new Date() }, ...letters].slice(0, MOST_LETTERS);
    },
    outbox: {
      get letters() {
        return letters;
      },
    },
  };
}
