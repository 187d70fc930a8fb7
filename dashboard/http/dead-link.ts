import { GatewayError } from "../../contract/errors.ts";

/** An emailed link that no longer works: its page says so, and where to get another. */
export class DeadLink extends GatewayError {
  /** null if only somebody else can send another. */
  readonly renewal: { path: string; words: string } | null;

  constructor(message: string, renewal: DeadLink["renewal"] = null) {
    super("not_found", message);
    this.renewal = renewal;
  }
}

/** Turns the rejection of a link's token into its page; other failures are unchanged. */
export async function orDeadLink<Found>(found: Promise<Found>, renewal: DeadLink["renewal"] = null): Promise<Found> {
  try {
    return await found;
  } catch (error) {
    if (error instanceof GatewayError && error.code === "not_found") throw new DeadLink(error.message, renewal);
    throw error;
  }
}
