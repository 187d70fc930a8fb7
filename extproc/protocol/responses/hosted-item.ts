import * as z from "zod";

/**
 * Calls of other services' tools in earlier turns: tools that a service runs itself, and its own tools that clients run for it.
 * Their members are read leniently: only their text matters.
 */
const CALLS = [
  "web_search_call",
  "file_search_call",
  "code_interpreter_call",
  "image_generation_call",
  "mcp_call",
  "computer_call",
  "local_shell_call",
  "shell_call",
  "apply_patch_call",
] as const;
const OUTPUTS = ["computer_call_output", "local_shell_call_output", "shell_call_output", "apply_patch_call_output"] as const;
/** A service's notes about the tools that it offers. */
const NOTES = [
  "mcp_list_tools",
  "mcp_approval_request",
  "mcp_approval_response",
  "tool_search_call",
  "tool_search_output",
] as const;

export const hostedItemSchema = z.looseObject({ type: z.literal([...CALLS, ...OUTPUTS, ...NOTES]) });
export type HostedItem = z.infer<typeof hostedItemSchema>;

const KINDS: ReadonlyMap<string, "call" | "output" | "note"> = new Map([
  ...CALLS.map((type) => [type, "call"] as const),
  ...OUTPUTS.map((type) => [type, "output"] as const),
  ...NOTES.map((type) => [type, "note"] as const),
]);

export function isHosted(item: { readonly type: string }): item is HostedItem {
  return KINDS.has(item.type);
}

/** Null for an item of another kind. */
export function hostedKind(type: string): "call" | "output" | "note" | null {
  return KINDS.get(type) ?? null;
}
