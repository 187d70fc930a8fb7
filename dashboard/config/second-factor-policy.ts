import * as z from "zod";

/** Must administrators of the service have a second factor? */
export type AdminSecondFactor = "required" | "optional";

/** Variables of the process. */
export const SECOND_FACTOR_VARIABLES = {
  ADMIN_SECOND_FACTOR: z.enum(["required", "optional"]).default("required"),
};
