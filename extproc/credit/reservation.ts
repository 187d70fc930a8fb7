import type { Interface } from "../../contract/protocol.ts";
import type { Caller } from "../auth/authenticate.ts";
import type { LimitedRequest, Limits } from "../limits/limits.ts";
import type { Credit } from "./credit.ts";
import type { HoldSize } from "./hold-size.ts";
import type { Departure, Hold } from "./hold.ts";

/** What a request takes before it runs: credit, and its share of the limits. */
export interface Reservation {
  readonly hold: Hold;
  /** The hold's coverage: the output limit of each answer, which is sent upstream. */
  readonly outputTokens: number;
  readonly limited: LimitedRequest;
}

export interface ReservationInput {
  caller: Caller;
  protocol: Interface;
  size: HoldSize;
  /** The client has left. */
  signal: Departure;
}

/**
 * Credit first: the limits count the held amount. A refusal by either leaves nothing taken; while it waits for a limit, the credit
 * stays held.
 * @throws GatewayError (or rejects with one) as Credit.admit and Limits.begin.
 */
export function reserve(
  { limits, credit }: { limits: Limits; credit: Credit },
  { caller, protocol, size, signal }: ReservationInput,
): Reservation | Promise<Reservation> {
  const begin = (hold: Hold): Reservation | Promise<Reservation> => {
    const heldNanoUsd = hold.heldNanoUsd();
    const begun = (limited: LimitedRequest): Reservation => ({ hold, outputTokens: size.outputTokens(heldNanoUsd), limited });
    const refused = (error: unknown): never => {
      hold.release();
      throw error;
    };
    try {
      const limited = limits.begin(caller, protocol, { tokens: size.promptTokens, nanoUsd: heldNanoUsd });
      return limited instanceof Promise ? limited.then(begun, refused) : begun(limited);
    } catch (error) {
      return refused(error);
    }
  };
  const hold = credit.admit(caller.account, size, signal);
  return hold instanceof Promise ? hold.then(begin) : begin(hold);
}

export function release({ hold, limited }: Reservation): void {
  hold.release();
  limited.cancel();
}

/** Takes nothing if the work fails. @throws what the work throws. */
export function orRelease<Result>(reservation: Reservation, work: () => Result): Result {
  try {
    return work();
  } catch (error) {
    release(reservation);
    throw error;
  }
}
