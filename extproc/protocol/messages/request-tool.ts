import * as z from "zod";
import { anyObject } from "./request-block.ts";

const positive = z.int({ error: "a positive integer" }).positive({ error: "a positive integer" });
const flag = z.boolean({ error: "true or false" });

/**
 * Custom tools, which the client describes itself (coding agents leave their `type` out), and the protocol's
 * own, known by a versioned type: `bash_20250124`.
 */
const toolSchema = z
  .object(
    {
      type: z.string({ error: "a tool type" }).nullish(),
      name: z.string({ error: "the tool's name, a string" }).nullish(),
      description: z.string({ error: "a string" }).nullish(),
      input_schema: anyObject.nullish(),
      strict: flag.nullish(),
      max_characters: positive.nullish(),
      display_width_px: positive.nullish(),
      display_height_px: positive.nullish(),
      enable_zoom: flag.nullish(),
      cache_control: z.unknown().optional(),
      defer_loading: z.unknown().optional(),
      eager_input_streaming: z.unknown().optional(),
      allowed_callers: z.unknown().optional(),
      input_examples: z.unknown().optional(),
    },
    { error: "an object with a name and an input_schema" },
  )
  .transform((tool, context) => {
    if (!isCustom(tool.type)) return { ...tool, kind: "typed" as const, type: tool.type };
    if (tool.name) return { ...tool, kind: "custom" as const, name: tool.name };
    context.addIssue({ code: "custom", path: ["name"], message: "the tool's name, a string", input: tool.name });
    return z.NEVER;
  });
export const toolsSchema = z.array(toolSchema, { error: "an array of tools" });

const parallel = { disable_parallel_tool_use: flag.nullish() };

export const toolChoiceSchema = z.discriminatedUnion(
  "type",
  [
    z.object({ type: z.literal("auto"), ...parallel }),
    z.object({ type: z.literal("any"), ...parallel }),
    z.object({ type: z.literal("tool"), name: z.string({ error: "the name of a tool" }), ...parallel }),
    z.object({ type: z.literal("none") }),
  ],
  { error: "an object whose type is auto, any, tool or none" },
);

export type Tool = z.infer<typeof toolSchema>;

export type TypedTool = Extract<Tool, { kind: "typed" }>;

function isCustom(type: string | null | undefined): type is "custom" | null | undefined {
  return type === undefined || type === null || type === "custom";
}
