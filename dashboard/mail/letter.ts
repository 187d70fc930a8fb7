/** Plain text for one person. */
export interface Letter {
  to: string;
  subject: string;
  text: string;
}

/** The latest emails, newest first; only for use on one machine, because anybody can read them. */
export interface Outbox {
  readonly letters: readonly { letter: Letter; at: Date }[];
}

/** How people receive mail. */
export interface Mailer {
  /** @throws Error if the email was not accepted. */
  send(letter: Letter): Promise<void>;
  /** Where undelivered emails can be read; null if they are sent. */
  readonly outbox: Outbox | null;
}

/**
 * The same news to several people: one address that rejects mail does not keep it from the others.
 * @returns false if nobody could be reached, although there was somebody.
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
