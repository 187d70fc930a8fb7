import { DAY_MS } from "../../contract/days.ts";

/** A UUIDv7 begins with its time: ids sort in the order in which requests began, and a time is a bound among ids. */

/** The lowest possible id of a request that begins at this moment. */
export function lowestIdAt(ms: number): string {
  const hex = Math.max(0, Math.floor(ms)).toString(16).padStart(12, "0");
  return `${hex.slice(0, 8)}-${hex.slice(8)}-7000-8000-000000000000`;
}

const FORM = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

/** Only ids of this version contain the day that a request is found by; none is from tomorrow. */
export function isRequestId(text: string, nowMs: number): boolean {
  return FORM.test(text) && msOfId(text) < nowMs + DAY_MS;
}

/** When the request of this id began, Unix ms. */
export function msOfId(requestId: string): number {
  return Number.parseInt(requestId.slice(0, 8) + requestId.slice(9, 13), 16);
}
