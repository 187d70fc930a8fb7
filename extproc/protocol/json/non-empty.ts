import * as z from "zod";

export const nonEmpty = z.string({ error: "a string that is not empty" }).min(1, { error: "a string that is not empty" });
