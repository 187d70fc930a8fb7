/** Plain text for one person. */
export interface Letter {
  to: string;
  subject: string;
  text: string;
}

/** The letters that were written last, newest first; one machine's own use: anybody can read them. */
export interface Outbox {
  readonly letters: readonly { letter: Letter; at: Date }[];
}

/** How people are written to. */
export interface Mailer {
  /** @throws Error where the letter was not taken. */
  send(letter: Letter): Promise<void>;
  /** Where letters can be read that go to nobody; null where they go out. */
  readonly outbox: Outbox | null;
}

/**
 * The same news to several people: one address that takes no mail keeps it from nobody else.
 * @returns false where nobody could be written to, though there was somebody.
 */
export async function sendToAny(
  mailer: Mailer,
  letters: readonly Letter[],
  onFailure: (error: unknown) => void,
): Promise<boolean> {
  const sent = await Promise.allSettled(letters.map((letter) => mailer.send(letter)));
  for (const result of sent) if (result.status === "rejected") onFailure(result.reason);
  return sent.length === 0 || sent.some(({ status }) => status === "fulfilled");
}
