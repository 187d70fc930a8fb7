import * as z from "zod";

const apiError = z
  .object({
    error: z.object({
      type: z.string().meta({ examples: ["invalid_request"] }),
      message: z.string().meta({ description: "What went wrong, and how to fix it" }),
      field: z.string().nullable().meta({ description: "The field that caused the error" }),
    }),
  })
  .meta({ id: "Error" });
export type ApiError = z.infer<typeof apiError>;

/** Part of each route's answers. */
export const failures = {
  "4xx": failure("Refused; the message explains the remedy."),
  "5xx": failure("Something failed in the service; the same request may succeed later."),
};

function failure(description: string) {
  return { description, content: { "application/json": { schema: apiError } } };
}
