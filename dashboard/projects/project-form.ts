import * as z from "zod";
import { isPrintable, isVisible } from "../../contract/printable.ts";
import { PROJECT_NAME_LENGTH } from "../../ledger/projects/projects.ts";

/** Throws a ZodError with a sentence for each invalid field. */
export const projectForm = z.object({
  name: z
    .string("Give the project a name.")
    .refine(isVisible, "Give the project a name.")
    .max(PROJECT_NAME_LENGTH, `Use at most ${PROJECT_NAME_LENGTH} characters.`)
    .refine(isPrintable, "Use one line without control characters."),
});
