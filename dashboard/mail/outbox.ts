import type { Mailer, Outbox } from "./letter.ts";

const MAX_LETTERS = 50;

/** Keeps emails in memory instead of sending them. */
export function createOutbox(): Mailer {
  let letters: Outbox["letters"] = [];
  return {
    async send(letter) {
      letters = [{ letter, at: new Date() }, ...letters].slice(0, MAX_LETTERS);
    },
    outbox: {
      get letters() {
        return letters;
      },
    },
  };
}
