import { GatewayError } from "../../contract/errors.ts";

/** Ollama and others send the arguments as an object. */
export function readArguments(value: unknown): string {
  if (typeof value === "string") return value;
  if (value === null || value === undefined) return "";
  try {
    return JSON.stringify(value);
  } catch (error) {
    // Nesting deeper than the stack: no tool has such arguments.
    throw new GatewayError("upstream_error", "The model server sent tool arguments that are nested too deep.", { cause: error });
  }
}
