import process from "node:process";
import { createLifecycle, exitOnSignals } from "../../runtime/lifecycle.ts";
import { createLog } from "../../runtime/log.ts";
import { portVariable, readEnv } from "../../runtime/env.ts";
import { startSimulator } from "./simulator.ts";

const { SIMULATOR_PORT } = readEnv({ SIMULATOR_PORT: portVariable }, process.env);
const log = createLog({ process: "simulator", level: "info" });
const lifecycle = createLifecycle(log);
exitOnSignals(lifecycle);
const simulator = await startSimulator({ port: SIMULATOR_PORT });
lifecycle.onShutdown({ name: "close the server", deadlineMs: 2_000, run: () => simulator.close() });
log.info({ url: simulator.url }, "the simulated model server listens");
