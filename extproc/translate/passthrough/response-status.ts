import { isGiven, type JsonObject } from "../../protocol/json/object.ts";

/** By the event that has the response. */
export const STATUSES: ReadonlyMap<string, string> = new Map([
  ["response.created", "in_progress"],
  ["response.in_progress", "in_progress"],
  ["response.completed", "completed"],
  ["response.incomplete", "incomplete"],
  ["response.failed", "failed"],
]);

/** @param status that its event, or a complete answer, stands for. @returns what it lacks. */
export function missingStatus({ status: given }: JsonObject, status: string | undefined): JsonObject {
  return isGiven(given) || status === undefined ? {} : { status };
}

/** Did it end before the model had completed it? @param missing what it lacks. */
export function isCutOff(response: JsonObject, { status = response["status"] }: JsonObject): boolean {
  return status !== "completed";
}
