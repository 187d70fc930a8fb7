import process from "node:process";
import * as z from "zod";
import { createLifecycle, exitOnSignals } from "../../runtime/lifecycle.ts";
import { createLog } from "../../runtime/log.ts";
import { portVariable, readEnvOrExit } from "../../runtime/env.ts";
import { startSimulator } from "./simulator.ts";

const settings = readEnvOrExit(
  {
    SIMULATOR_HOST: z.string().default("127.0.0.1"),
    SIMULATOR_PORT: portVariable,
  },
  process.env,
);
const log = createLog({ process: "simulator", level: "info" });
const lifecycle = createLifecycle(log);
exitOnSignals(lifecycle);
const simulator = await startSimulator({ host: settings.SIMULATOR_HOST, port: settings.SIMULATOR_PORT });
lifecycle.onShutdown({ name: "close the server", deadlineMs: 2_000, run: () => simulator.close() });
log.info({ url: simulator.url }, "the simulated model server is listening");
