import { GatewayError } from "../../../contract/errors.ts";
import type { InputItem } from "../../protocol/responses/request-item.ts";

/** A path into chat's messages, as the steps below name a field. */
const MESSAGE_PATH = /messages\[(\d+)\](?:\.content(\[\d+\])?)?([\w.]*)/g;
/** Their members, where the client has another name for them. */
const MEMBERS: Readonly<Record<string, string>> = {
  ".image_url.url": ".image_url",
  ".file.file_data": ".file_data",
  ".file": "",
};

/**
 * Runs a step over messages; what it refuses is named as the client wrote it.
 * @param places for each message, the place of its first item.
 */
export function inInputWords<Result>(places: readonly number[], items: readonly InputItem[], step: () => Result): Result {
  return renaming(step, (text) =>
    text.replaceAll(MESSAGE_PATH, (_, message: string, part: string | undefined, member: string) => {
      const place = places[Number(message)] ?? 0;
      const type = items[place]?.type;
      const holder = type === "function_call_output" || type === "custom_tool_call_output" ? "output" : "content";
      return `input[${place}]${part === undefined ? "" : `.${holder}${part}`}${MEMBERS[member] ?? member}`;
    }),
  );
}

/** The same for the last step, whose turns hold several items each: it names the whole input. */
export function inRoughWords<Result>(step: () => Result): Result {
  return renaming(step, (text) => text.replaceAll(/\bmessages\[\d+\](?:\.content\[\d+\])*[\w.]*/g, "input"));
}

function renaming<Result>(step: () => Result, rename: (text: string) => string): Result {
  try {
    return step();
  } catch (thrown) {
    if (!(thrown instanceof GatewayError) || thrown.field === null) throw thrown;
    throw new GatewayError(thrown.code, rename(thrown.message), {
      field: rename(thrown.field),
      status: thrown.status,
      headers: thrown.headers,
      cause: thrown,
    });
  }
}
