import path from "node:path";
import process from "node:process";
import { cacheDirectory } from "../../local/cache-directory.ts";

/** For the environment of programs that tests start: they compile what they load once for all, as `npm start`'s parts do. */
export const COMPILE_CACHE = { NODE_COMPILE_CACHE: path.join(cacheDirectory(process.env), "compiled") };
