import { isObject, type JsonObject } from "../json/object.ts";

const EMPTY: ReadonlySet<unknown> = new Set([null, false, 0, ""]);

/**
 * The server's error in a completion or a chunk; null if there is none. Some servers send it without its envelope, others in a
 * choice. Some have an `error` that says nothing in every chunk.
 * @param event the name of the event; null if it has none.
 */
export function errorIn(json: JsonObject, event: string | null): unknown {
  const { error, object, choices, usage, message, detail } = json;
  if (event === "error" || object === "error") return json;
  if (error !== undefined && !EMPTY.has(error)) return json;
  if (choices === undefined && usage === undefined && (typeof message === "string" || detail !== undefined)) return json;
  if (!Array.isArray(choices)) return null;
  for (const choice of choices) if (isObject(choice) && isObject(choice["error"])) return choice;
  return null;
}
