import type { Editor, Format } from "./editor.ts";
import { envGrammar } from "./env.ts";
import { createJsonEditor } from "./json.ts";
import { uncommented } from "./profile.ts";
import { createStatementEditor } from "./statements.ts";
import { tomlGrammar } from "./toml.ts";
import { yamlGrammar } from "./yaml.ts";

const EDITORS: Readonly<Record<Format, Editor>> = {
  json: createJsonEditor({ allowsComments: false }),
  jsonc: createJsonEditor({ allowsComments: true }),
  toml: createStatementEditor(tomlGrammar),
  yaml: createStatementEditor(yamlGrammar),
  env: createStatementEditor(envGrammar),
  profile: { apply: (text) => text, revert: uncommented },
};

const BYTE_ORDER_MARK = "\uFEFF";

export function editorOf(format: Format): Editor {
  const editor = EDITORS[format];
  return {
    apply: (text, ...rest) => besideMark(text, (body) => editor.apply(body, ...rest)),
    revert: (text, operations, before) =>
      besideMark(text, (body) => editor.revert(body, operations, before === undefined ? undefined : withoutMark(before))),
  };
}

/** Windows editors write a byte order mark; parsers do not expect it, and it is kept. */
function besideMark(text: string, edit: (body: string) => string): string {
  const body = withoutMark(text);
  return text.slice(0, text.length - body.length) + edit(body);
}

function withoutMark(text: string): string {
  return text.startsWith(BYTE_ORDER_MARK) ? text.slice(1) : text;
}
