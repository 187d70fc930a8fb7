import type { Database } from "../postgres/database.ts";
import { countAttempt, strangersLetter } from "../sign-in/attempts.ts";
import { GatewayError } from "../../contract/errors.ts";

/**
 * Counts an email that a person triggers to an address, which may not be theirs, across all senders and accounts.
 * @returns false if the mailbox has received its daily maximum.
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
