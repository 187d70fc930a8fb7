import { GatewayError } from "../../../contract/errors.ts";
import type { RequestBody } from "../../protocol/json/request-body.ts";

/** Fields by which a request selects a price at its provider other than the Model's, and the values that select none. */
const MODIFIERS = [
  { field: "service_tier", base: ["auto", "default", "standard", "standard_only", "flex"] },
  { field: "speed", base: ["standard"] },
  { field: "inference_geo", base: ["global", "not_available"] },
] as const;

const CHOICE = new Intl.ListFormat("en", { type: "disjunction" });

/**
 * For requests that pass unchanged: translations write no such field except with one of these values.
 * @param other a field that has another meaning on this interface.
 * @throws GatewayError `invalid_request` for a value at which providers charge a multiple.
 */
export function refusePriceModifiers({ outline }: RequestBody, other?: string): void {
  for (const { field, base } of MODIFIERS) {
    const value = field === other ? undefined : outline[field];
    if (value === undefined || value === null || base.some((each) => each === value)) continue;
    const accepted = CHOICE.format(base.map((each) => `\`${each}\``));
    throw new GatewayError(
      "invalid_request",
      `\`${field}\` must be ${accepted}: the model's price covers nothing else. You can also leave it out.`,
      { field },
    );
  }
}
