import { execFileSync, spawn } from "node:child_process";
import process from "node:process";
import * as z from "zod";
import { startRelay } from "./relay.ts";

/**
 * The first process of a network of its own: it turns on the loopback interface, relays connections, and runs a program until that
 * ends. Its only parameter is what own-network.ts gives it.
 */
const addressSchema = z.strictObject({ host: z.string(), port: z.int() });
const socketSchema = z.strictObject({ path: z.string() });
const end = z.union([addressSchema, socketSchema]);
const settingsSchema = z.strictObject({
  program: z.string(),
  parameters: z.array(z.string()),
  relays: z.array(z.strictObject({ from: end, to: end })),
});

const { program, parameters, relays } = settingsSchema.parse(JSON.parse(process.argv[2] ?? ""));
execFileSync("ip", ["link", "set", "lo", "up"]);
for (const { from, to } of relays) await startRelay(from, to);
const child = spawn(program, parameters, { stdio: "inherit" });
process.on("SIGTERM", () => child.kill("SIGTERM"));
child.once("exit", (code) => process.exit(code ?? 1));
