import type { Encodable } from "../../protocol/json/raw.ts";
import type { TypedTool } from "../../protocol/messages/request-tool.ts";

/** A function as chat describes it. */
export interface FunctionTool {
  name: string;
  description?: string;
  parameters: Encodable;
  strict?: true;
}

/**
 * The messages protocol's tools that the client itself runs. Models of its maker know them by training; for any other they are
 * described in full, with the names and members that clients answer to. Null if it is not one of them.
 */
export function clientTool(tool: TypedTool): FunctionTool | null {
  const [, family, version = ""] = /^(bash|text_editor|memory|computer)_(\d{8})$/.exec(tool.type) ?? [];
  if (family === "bash") return bash(tool.name ?? "bash");
  if (family === "text_editor") return textEditor(tool, version);
  if (family === "memory") return memory(tool.name ?? "memory");
  return family === "computer" ? computer(tool) : null;
}

function bash(name: string): FunctionTool {
  return {
    name,
    description: "Runs a command in a bash session that keeps its state between calls.",
    parameters: object({
      command: text("The command to run. Needed unless restart is true."),
      restart: { type: "boolean", description: "True restarts the session instead of running a command." },
    }),
  };
}

/** The first versions had another name and an undo command. */
const LAST_WITH_UNDO = "20250124";

function textEditor(tool: TypedTool, version: string): FunctionTool {
  const hasUndo = version <= LAST_WITH_UNDO;
  const commands = ["view", "create", "str_replace", "insert", ...(hasUndo ? ["undo_edit"] : [])];
  const limit = tool.max_characters ? ` A view shows at most ${tool.max_characters} characters.` : "";
  return {
    name: tool.name ?? (hasUndo ? "str_replace_editor" : "str_replace_based_edit_tool"),
    description: `Shows, creates and edits text files, and lists directories.${limit}`,
    parameters: object(
      {
        command: choice(commands, "What to do."),
        path: text("Path of the file or directory."),
        file_text: text("For create: the content of the new file."),
        old_str: text("For str_replace: the text to replace. It must occur exactly once."),
        new_str: text("For str_replace: the new text. For insert: the text to insert."),
        insert_text: text("For insert: the text to insert."),
        insert_line: integer("For insert: the line after which the text is inserted; 0 for the start of the file."),
        view_range: {
          type: "array",
          items: { type: "integer" },
          description: "For view: first and last line, counted from 1; -1 as the last means the end.",
        },
      },
      ["command", "path"],
    ),
  };
}

function memory(name: string): FunctionTool {
  return {
    name,
    description: "Keeps notes in files under /memories that outlast the conversation. Look there before starting a task.",
    parameters: object(
      {
        command: choice(["view", "create", "str_replace", "insert", "delete", "rename"], "What to do."),
        path: text("Path of the file or directory; it starts with /memories."),
        file_text: text("For create: the content of the file."),
        old_str: text("For str_replace: the text to replace."),
        new_str: text("For str_replace: the new text."),
        insert_line: integer("For insert: the line after which the text is inserted."),
        insert_text: text("For insert: the text to insert."),
        old_path: text("For rename: the current path."),
        new_path: text("For rename: the new path."),
        view_range: { type: "array", items: { type: "integer" }, description: "For view: first and last line." },
      },
      ["command"],
    ),
  };
}

const COMPUTER_ACTIONS = [
  "key",
  "type",
  "mouse_move",
  "left_click",
  "left_click_drag",
  "right_click",
  "middle_click",
  "double_click",
  "triple_click",
  "left_mouse_down",
  "left_mouse_up",
  "scroll",
  "hold_key",
  "wait",
  "screenshot",
  "cursor_position",
];

function computer(tool: TypedTool): FunctionTool {
  const size =
    tool.display_width_px && tool.display_height_px
      ? ` The screen is ${tool.display_width_px} by ${tool.display_height_px} pixels.`
      : "";
  const actions = tool.enable_zoom === true ? [...COMPUTER_ACTIONS, "zoom"] : COMPUTER_ACTIONS;
  return {
    name: tool.name ?? "computer",
    description: `Uses a computer's screen, mouse and keyboard.${size} Take a screenshot to see what an action did.`,
    parameters: object(
      {
        action: choice(actions, "What to do."),
        coordinate: point("Where: x and y in pixels from the upper left corner."),
        start_coordinate: point("For left_click_drag: where the drag begins."),
        text: text("For type: the text. For key and hold_key: the keys, for example ctrl+s."),
        scroll_direction: choice(["up", "down", "left", "right"], "For scroll."),
        scroll_amount: integer("For scroll: how many steps."),
        duration: { type: "number", description: "For hold_key and wait: seconds." },
        ...(tool.enable_zoom === true
          ? { region: { type: "array", items: { type: "integer" }, description: "For zoom: x and y of two opposite corners." } }
          : {}),
      },
      ["action"],
    ),
  };
}

type Schema = { readonly [name: string]: Encodable };

function object(properties: Schema, required: readonly string[] = []): Schema {
  return { type: "object", properties, ...(required.length > 0 ? { required } : {}) };
}

function text(description: string): Schema {
  return { type: "string", description };
}

function integer(description: string): Schema {
  return { type: "integer", description };
}

function choice(values: readonly string[], description: string): Schema {
  return { type: "string", enum: values, description };
}

function point(description: string): Schema {
  return { type: "array", items: { type: "integer" }, minItems: 2, maxItems: 2, description };
}
