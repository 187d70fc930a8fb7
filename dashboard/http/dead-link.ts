import { GatewayError } from "../../contract/errors.ts";

/** A mailed link that no longer works: its page says so, and where to get another. */
export class DeadLink extends GatewayError {
  /** null: only somebody else can send another. */
  readonly renewal: { path: string; words: string } | null;

  constructor(message: string, renewal: DeadLink["renewal"] = null) {
    super("not_found", message);
    this.renewal = renewal;
  }
}

/** Turns the refusal of a link's token into its page; other failures stay what they are. */
export async function orDeadLink<Found>(found: Promise<Found>, renewal: DeadLink["renewal"] = null): Promise<Found> {
  try {
    return await found;
  } catch (error) {
    if (error instanceof GatewayError && error.code === "not_found") throw new DeadLink(error.message, renewal);
    throw error;
  }
}
