import * as z from "zod";

const text = z.string({ error: "a string" });
const name = z.string({ error: "the tool's name, a string" }).min(1, { error: "the tool's name" });
const object = z.custom<Readonly<Record<string, unknown>>>(isObject, { error: "an object" });

const functionTool = z.object({
  type: z.literal("function"),
  name,
  description: text.nullish(),
  parameters: object.nullish(),
  strict: z.boolean({ error: "true or false" }).nullish(),
});
/** Takes free text instead of JSON. */
const customTool = z.object({
  type: z.literal("custom"),
  name,
  description: text.nullish(),
  format: object.nullish(),
});
/** Tools of one origin under a common name. */
const namespaceTool = z.object({
  type: z.literal("namespace"),
  name,
  description: text.nullish(),
  tools: z.array(z.discriminatedUnion("type", [functionTool, customTool], { error: "a tool of type function or custom" }), {
    error: "an array of tools",
  }),
});

/** Finds deferred tools in the model's place, or asks the client for more of them. */
const toolSearch = z.object({ type: z.literal("tool_search") });

export const toolsSchema = z.array(
  z.discriminatedUnion("type", [functionTool, customTool, namespaceTool, toolSearch], {
    error: "a tool of type function, custom or namespace: the gateway runs no tools itself",
  }),
  { error: "an array of tools" },
);

const named = z.object({ type: z.enum(["function", "custom"]), name, namespace: text.nullish() });

const choiceObject = z.discriminatedUnion(
  "type",
  [
    named.extend({ type: z.literal(["function", "custom"]) }),
    z.object({
      type: z.literal("allowed_tools"),
      mode: z.enum(["auto", "required"], { error: "auto or required" }),
      tools: z.array(named, { error: "an array of tools, each with its type and name" }),
    }),
  ],
  { error: "none, auto, required, or an object of type function, custom or allowed_tools" },
);

export const toolChoiceSchema = z.union([z.enum(["none", "auto", "required"]), choiceObject], {
  error: "none, auto, required, or an object of type function, custom or allowed_tools",
});

export type Tool = z.infer<typeof toolsSchema>[number];
export type ToolOf<Type extends Tool["type"]> = Extract<Tool, { type: Type }>;
export type ToolChoice = z.infer<typeof toolChoiceSchema>;

function isObject(value: unknown): boolean {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
