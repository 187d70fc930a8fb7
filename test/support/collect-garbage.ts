import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import * as z from "zod";

setFlagsFromString("--expose-gc");

/** Frees all that this process no longer holds: what remains is what it does hold. */
export const collectGarbage = z.function({ input: [] }).parse(runInNewContext("gc"));
