import { GatewayError } from "../../../contract/errors.ts";
import type { Usage } from "../../../contract/usage.ts";
import { isObject, type JsonObject } from "../../protocol/json/object.ts";
import { encodeForeign } from "../../protocol/json/raw.ts";
import { editMembers, within, type MemberEdits } from "../../protocol/json/splice.ts";
import { FINAL_EVENTS } from "../../protocol/responses/final-events.ts";
import { createResponseForm, type CompletedEvent, type ResponseForm } from "./response-form.ts";
import type { ResponseFacts } from "./response-head.ts";
import { createResponseSoFar, type ResponseSoFar } from "./response-so-far.ts";

/** A streamed response in the form that clients require, and what they have of it so far. */
export interface CompletedResponse extends ResponseForm {
  /** @param json with its type. @param data as its server wrote it. */
  read(json: JsonObject, data: string): CompletedEvent | "hide" | GatewayError | null;
  soFar: ResponseSoFar;
}

interface ReadRules {
  /** Differences from the server's own response; null if there are none. */
  edits: MemberEdits | null;
  /** The gateway's count, for a server that reports none; null to leave usage as it is. */
  counted: (() => Usage) | null;
}

export function createCompletedResponse(facts: ResponseFacts, { edits, counted }: ReadRules): CompletedResponse {
  const soFar = createResponseSoFar(edits);
  const { complete } = createResponseForm(facts, { contentOf: soFar.item, counted });
  let hasEnded = false;

  function read(json: JsonObject, data: string): CompletedEvent | "hide" | GatewayError | null {
    const completed = complete(json);
    if (completed === "hide" || completed instanceof GatewayError) return completed;
    remember(json, data, completed);
    const { type, response } = json;
    if (hasEnded || typeof type !== "string" || !FINAL_EVENTS.includes(type)) return completed;
    // Once: a server could repeat a short event, and all items with it.
    hasEnded = true;
    return isObject(response) && isEmptyList(response["output"]) ? withItems(completed) : completed;
  }

  /** As the client gets it. */
  function remember(json: JsonObject, data: string, completed: CompletedEvent | null): void {
    if (completed === null) {
      soFar.read(json, data);
      return;
    }
    for (const event of completed.missing) soFar.read(event, encodeForeign(event));
    const { values, inside } = completed;
    // Of what is inside, only items and responses are kept; most events are pieces of text.
    const isEdited = inside.item !== undefined || inside.response !== undefined;
    soFar.read({ ...json, ...values }, isEdited ? editMembers(Buffer.from(data), editsInside(inside)).toString("utf8") : data);
  }

  /** Some servers send the items in their own events only: clients read the last response, and the gateway stores it. */
  function withItems(completed: CompletedEvent | null): CompletedEvent {
    const output = Buffer.from(soFar.output());
    const { values = {}, inside = {}, missing = [] } = completed ?? {};
    return { values, inside: { ...inside, response: { ...inside.response, output: () => output } }, missing };
  }

  return { complete, read, soFar };
}

export function editsInside(inside: CompletedEvent["inside"]): MemberEdits {
  return Object.fromEntries(Object.entries(inside).map(([name, edits]) => [name, within(edits)]));
}

function isEmptyList(value: unknown): boolean {
  return value === undefined || value === null || (Array.isArray(value) && value.length === 0);
}
