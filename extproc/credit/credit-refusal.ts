import { GatewayError } from "../../contract/errors.ts";

/** The account cannot pay for it, regardless of waiting: only a payment helps, and SDKs must not retry it (S37, S42). */
export function short(reason: string, remedy: string, topUpUrl: string): GatewayError {
  return new GatewayError(
    "insufficient_balance",
    `Insufficient balance: this account's credit ${reason}. ${remedy}, or add credit at ${topUpUrl}.`,
  );
}

/** The credit exists, but other requests hold it: waiting helps (S37). */
export function heldByOthers(): GatewayError {
  return new GatewayError(
    "insufficient_balance",
    "Insufficient balance for one more request right now: this account's credit is held by running requests. Try again when they finish.",
    { headers: { "x-should-retry": "true", "retry-after": "2" } },
  );
}

/** The account's credit is unknown. */
export function unavailable(): GatewayError {
  return new GatewayError("billing_unavailable", "The balance cannot be read right now. Try again in a few seconds.", {
    headers: { "retry-after": "5" },
  });
}
