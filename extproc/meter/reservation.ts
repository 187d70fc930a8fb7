import type { Interface } from "../../contract/protocol.ts";
import type { Caller } from "../auth/authenticate.ts";
import type { LimitedRequest, Limits } from "../limits/limits.ts";
import type { Credit } from "./credit.ts";
import type { HoldSize } from "./hold-size.ts";
import type { Departure, Hold } from "./wallet.ts";

/** What a request has taken before it runs: its place within the limits, and credit. */
export interface Reservation {
  readonly hold: Hold;
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
 * Limits first, credit after: what is refused by either leaves nothing taken.
 * @throws GatewayError (or rejects with one) as Limits.begin and Credit.admit.
 */
export function reserve(
  { limits, credit }: { limits: Limits; credit: Credit },
  { caller, protocol, size, signal }: ReservationInput,
): Reservation | Promise<Reservation> {
  const limited = limits.begin(caller, protocol, { tokens: size.promptTokens, nanoUsd: size.fullNanoUsd });
  const undo = (error: unknown): never => {
    limited.cancel();
    throw error;
  };
  try {
    const hold = credit.admit(caller.account, size, signal);
    return hold instanceof Promise ? hold.then((each) => ({ hold: each, limited }), undo) : { hold, limited };
  } catch (error) {
    return undo(error);
  }
}

export function release({ hold, limited }: Reservation): void {
  hold.release();
  limited.cancel();
}
