import type { Dialect } from "../../contract/protocol.ts";

const NAMES = ["simulation", "simulation-reasoner"] as const;
const CREATED_SECONDS = 1_767_225_600;

/** The model list in a protocol's format. Any model name is served; names that contain "reasoner" think aloud. */
export function modelList(protocol: Dialect): object {
  switch (protocol) {
    case "chat":
      return {
        object: "list",
        data: NAMES.map((id) => ({ id, object: "model", created: CREATED_SECONDS, owned_by: "simulation" })),
      };
    case "messages":
      return {
        data: NAMES.map((id) => ({
          type: "model",
          id,
          display_name: `${id} (no model)`,
          created_at: new Date(CREATED_SECONDS * 1000).toISOString(),
        })),
        has_more: false,
        first_id: NAMES[0],
        last_id: NAMES[1],
      };
  }
}
