/** Of a response that its client received completely, or up to a limit. */
export const FINAL_EVENTS: readonly string[] = ["response.completed", "response.incomplete"];
