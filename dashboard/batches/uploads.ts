import { ACCOUNT_BOUNDS } from "../../contract/account-bounds.ts";
import { createTurns } from "../http/turns.ts";

/** Uploads that run at once. */
export interface Uploads {
  /** @returns what ends the turn. @throws GatewayError `rate_limited` if too many wait. */
  take(accountId: string): Promise<() => void>;
}

/** Of all accounts, in this process: each holds a mebibyte or two, and one element of up to eight. */
const MAX_UPLOADS = 8;
const WAIT_MS = 30_000;
const EVERYBODY = "";

export function createUploads(): Uploads {
  const ofAccount = createTurns({
    inWork: ACCOUNT_BOUNDS.batchUploads,
    waiting: 8,
    waitMs: WAIT_MS,
    refusal: `This account is already uploading ${ACCOUNT_BOUNDS.batchUploads} files or batches. Wait until one is complete.`,
  });
  const ofAll = createTurns({
    inWork: MAX_UPLOADS,
    waiting: 64,
    waitMs: WAIT_MS,
    refusal: "Too many files and batches are being uploaded at the moment. Try again in a moment.",
  });
  return {
    async take(accountId) {
      const endOwn = await ofAccount.take(accountId);
      try {
        const end = await ofAll.take(EVERYBODY);
        return () => {
          end();
          endOwn();
        };
      } catch (error) {
        endOwn();
        throw error;
      }
    },
  };
}
