import type { Database } from "../postgres/database.ts";
import { countAttempt, strangersLetter } from "../sign-in/attempts.ts";
import { GatewayError } from "../../contract/errors.ts";

/**
 * Counts a letter that somebody has us write to an address, which may be anybody's: whoever asks, and from however many
 * accounts.
 * @returns false where the mailbox got enough of them today.
 */
export async function takeLetter(database: Database, email: string): Promise<boolean> {
  try {
    await countAttempt(database, strangersLetter({ email }));
    return true;
  } catch (error) {
    if (error instanceof GatewayError && error.code === "rate_limited") return false;
    throw error;
  }
}
