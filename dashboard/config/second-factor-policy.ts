import * as z from "zod";

/** Whether administrators of the service must have a second factor. */
export type AdminSecondFactor = "required" | "optional";

/** Variables of the process. */
export const SECOND_FACTOR_VARIABLES = {
  ADMIN_SECOND_FACTOR: z.enum(["required", "optional"]).default("required"),
};
