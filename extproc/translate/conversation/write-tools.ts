import type { Profile } from "../../../contract/profile.ts";
import type { RawJson } from "../../protocol/json/raw.ts";
import type { Conversation, Omitted } from "./conversation.ts";
import type { ToolNames } from "./names.ts";
import { strictSchema } from "./strict-schema.ts";
import { withProperties } from "./tool.ts";

export interface WriteToolsContext {
  names: ToolNames;
  profile: Profile;
  omitted: Omitted;
}

/** A tool as chat and Responses name its members. */
interface WrittenTool {
  name: string;
  description: string | undefined;
  parameters: RawJson;
  /** Only for schemas that servers accept as strict. */
  isStrict: boolean;
}

export function describeTools(
  { tools, words }: Pick<Conversation, "tools" | "words">,
  { names, omitted }: Pick<WriteToolsContext, "names" | "omitted">,
): WrittenTool[] {
  return tools.map(({ name, description, schema, strict }) => {
    const strictForm = strict ? strictSchema(schema.text, schema.parsed) : null;
    const isStrict = strictForm !== null;
    if (strict && !isStrict) omitted.tools.add(words.strictTool);
    const parameters = strictForm ?? withProperties(schema);
    return { name: names.toUpstream(name), description: description || undefined, parameters, isStrict };
  });
}

/** Is the server limited to one call at a time? */
export function asksForSerialCalls(
  { isSerial, words }: Pick<Conversation, "isSerial" | "words">,
  { profile, omitted }: Pick<WriteToolsContext, "profile" | "omitted">,
): boolean {
  const takesSerial = !profile.rejects.includes("parallel_tool_calls");
  if (isSerial && !takesSerial && words.serialCalls !== null) omitted.tools.add(words.serialCalls);
  return isSerial && takesSerial;
}
