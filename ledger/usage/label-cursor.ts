import { GatewayError } from "../../contract/errors.ts";
import type { LabelPosition } from "./label-reports.ts";

/** The position after a page of labels, as an opaque text that callers return. */
export function encodeLabelCursor({ value, chargeNanoUsd }: LabelPosition): string {
  return Buffer.from(`${chargeNanoUsd}.${value}`).toString("base64url");
}

/** @throws GatewayError `invalid_request` for an invalid cursor. */
export function decodeLabelCursor(cursor: string): LabelPosition {
  const [, charge, value] = /^(\d{1,18})\.([^\0]{0,256})$/u.exec(Buffer.from(cursor, "base64url").toString("utf8")) ?? [];
  if (charge !== undefined && value !== undefined) return { value, chargeNanoUsd: BigInt(charge) };
  throw new GatewayError("invalid_request", "This is not a cursor of this list: send `next_cursor` of one of its pages.", {
    field: "cursor",
  });
}
