import process from "node:process";
import { collectGarbage } from "../collect-garbage.ts";

/** Loaded before a program whose memory a test looks at. */
process.on("SIGUSR2", () => collectGarbage());
