import * as z from "zod";
import type { Capability } from "../../contract/capability.ts";
import { explain } from "../crd/explain.ts";
import { must } from "./field-message.ts";
import { someText } from "./plain-text.ts";

/** Each capability by its name in a Model resource. */
export const CAPABILITY_OF = {
  Tools: "tools",
  Images: "images",
  Files: "files",
  Reasoning: "reasoning",
  StructuredOutputs: "structured_outputs",
} as const satisfies Record<string, Capability>;

const NAMES = ["Tools", "Images", "Files", "Reasoning", "StructuredOutputs"] as const satisfies (keyof typeof CAPABILITY_OF)[];
const LISTED = "Tools, Images, Files, Reasoning or StructuredOutputs";

/** Presentation of a Model to people and in model lists. It enforces nothing. */
export const presentation = {
  displayName: someText(128).optional().describe("Name of the Model in the dashboard and in model lists; modelName if absent."),
  description: someText(1024)
    .optional()
    .describe("What the Model is good for, in a few sentences of plain text, for people who choose one."),
  capabilities: z
    .array(z.enum(NAMES, must(`be ${LISTED}`)), must(`be a list of ${LISTED}`))
    .max(NAMES.length, "must not name a capability twice")
    .refine((names) => new Set(names).size === names.length, "must not name a capability twice")
    .optional()
    .meta(
      explain(
        "What the Model can do beyond text: Tools, Images and Files (PDF) in prompts, Reasoning, StructuredOutputs. An empty list states that it can do none of them; if absent, nothing is stated. It is shown, and not enforced.",
        { list: "set" },
      ),
    ),
};
