import * as z from "zod";

const apiError = z
  .object({
    error: z.object({
      type: z.string().meta({ examples: ["invalid_request"] }),
      message: z.string().meta({ description: "What is wrong, and what to do about it" }),
      field: z.string().nullable().meta({ description: "The field at fault" }),
    }),
  })
  .meta({ id: "Error" });
export type ApiError = z.infer<typeof apiError>;

/** Part of each route's answers. */
export const failures = { "4xx": apiError, "5xx": apiError };
