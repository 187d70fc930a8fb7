import * as z from "zod";

const text = z.string({ error: "a string" });
const name = z.string({ error: "the tool's name, a string" }).min(1, { error: "the tool's name" });
const object = z.custom<Readonly<Record<string, unknown>>>(isObject, { error: "an object" });

const description = z.object(
  {
    name,
    description: text.nullish(),
    parameters: object.nullish(),
    input_schema: z.unknown().optional(),
    strict: z.boolean({ error: "true or false" }).nullish(),
  },
  { error: "an object with a name and parameters" },
);

const customDescription = z.object(
  { name, description: text.nullish(), format: object.nullish() },
  { error: "an object with a name" },
);

/** Tools in chat's form, and flat, as Responses-style clients send them: `{type, name, parameters}`. */
const tool = z
  .object(
    {
      type: z.string({ error: "function or custom" }).nullish(),
      function: description.nullish(),
      custom: customDescription.nullish(),
      name: name.nullish(),
      description: text.nullish(),
      parameters: object.nullish(),
      input_schema: z.unknown().optional(),
      strict: z.boolean({ error: "true or false" }).nullish(),
      format: object.nullish(),
      cache_control: z.unknown().optional(),
    },
    { error: "an object with a type and a function" },
  )
  .transform((tool, context) => {
    const { type, cache_control } = tool;
    if (type === "function" || type === undefined || type === null) {
      const described = tool.function ?? (tool.name ? { ...tool, name: tool.name } : undefined);
      if (described) {
        // The model would be offered a function without parameters, and call it so.
        if (isMessagesForm(described))
          context.addIssue({
            code: "custom",
            path: tool.function ? ["function", "input_schema"] : ["input_schema"],
            message: "the schema as `parameters` of `function`: `input_schema` belongs to POST /v1/messages",
            input: described.input_schema,
          });
        return { kind: "function" as const, ...pickFunction(described), cache_control, isFlat: !tool.function };
      }
    }
    if (type === "custom") {
      const described = tool.custom ?? (tool.name ? { ...tool, name: tool.name } : undefined);
      if (described)
        return {
          kind: "custom" as const,
          name: described.name,
          description: described.description,
          format: described.format,
          cache_control,
        };
    }
    const isKnown = type === "function" || type === "custom" || type === undefined || type === null;
    context.addIssue({
      code: "custom",
      path: isKnown ? [type ?? "function"] : ["type"],
      message: isKnown ? "an object with a name" : "function or custom: the gateway runs no tools itself",
      input: type,
    });
    return z.NEVER;
  });

export const toolsSchema = z.array(tool, { error: "an array of tools" });

/** `functions`, the form from before tools. */
export const functionsSchema = z.array(description, { error: "an array of functions" });

const choiceObject = z.object(
  {
    type: z.enum(["function", "custom", "allowed_tools"], { error: "function, custom or allowed_tools" }),
    function: z.object({ name }, { error: "an object with a name" }).nullish(),
    custom: z.object({ name }, { error: "an object with a name" }).nullish(),
    allowed_tools: z
      .object(
        {
          mode: z.enum(["auto", "required"], { error: "auto or required" }),
          tools: z.array(z.unknown(), { error: "an array of tools" }),
        },
        { error: "an object with a mode and tools" },
      )
      .nullish(),
    name: name.nullish(),
  },
  { error: "none, auto, required, or an object that names a function" },
);

export const toolChoiceSchema = z.union([z.enum(["none", "auto", "required"]), choiceObject], {
  error: "none, auto, required, or an object that names a function",
});

/** `function_call`, the form from before tools. */
export const functionCallChoiceSchema = z.union([z.enum(["none", "auto"]), z.object({ name })], {
  error: "none, auto, or an object with a function's name",
});

export type Tool = z.infer<typeof tool>;
export type ToolChoice = z.infer<typeof toolChoiceSchema>;
type FunctionDescription = z.infer<typeof description>;

function pickFunction({ name, description, parameters, strict }: FunctionDescription): Omit<FunctionDescription, "input_schema"> {
  return { name, description, parameters, strict };
}

function isMessagesForm({ parameters, input_schema }: Pick<FunctionDescription, "parameters" | "input_schema">): boolean {
  return (parameters ?? null) === null && (input_schema ?? null) !== null;
}

function isObject(value: unknown): boolean {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
