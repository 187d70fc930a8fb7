import process from "node:process";
import type { Programs } from "../bundle/programs.ts";
import { sentenceOf } from "./failure.ts";
import { INACTIVE_ACCOUNT } from "./demo.ts";
import { hasProxy, passLoopback } from "./loopback-proxy.ts";
import { parseOptions } from "./options.ts";
import { LOOPBACK } from "./process/ports.ts";
import { COLOURED, PLAIN, renderScreen } from "./screen.ts";
import { startStack, type Stack } from "./stack.ts";
import { createStopSignals } from "./process/stop-signals.ts";
import { adviseOnUpstreams } from "./upstream-advice.ts";

interface StartOptions {
  /** The command line, without the program and its file. */
  words: readonly string[];
  environment: Record<string, string | undefined>;
  programs: Programs;
}

/** `npm start`: shows the progress, then the screen, and ends this process when it is stopped or a part keeps failing. */
export async function start({ words, environment, programs }: StartOptions): Promise<void> {
  const options = parseOptions(words, environment);
  passLoopback(environment, LOOPBACK);
  const palette = process.stdout.isTTY && !environment["NO_COLOR"] ? COLOURED : PLAIN;
  // A reader that went away (`| head`) must not stop this process before it has stopped the parts.
  for (const stream of [process.stdout, process.stderr]) stream.on("error", () => {});

  let stack: Stack | undefined;
  const stop = createStopSignals(process, () => {
    console.log("Stopping immediately; the data is kept.");
    stack?.kill();
    process.exit(1);
  });

  try {
    stack = await startStack({
      ...options,
      programs,
      environment,
      signal: stop.signal,
      onProgress: (line) => console.log(line),
      onComplaint: (part, message, detail) =>
        console.error(`${palette.bold(part)}: ${message}${detail === undefined ? "" : ` (${detail})`}`),
    });
    const { baseUrl, apiKey, signIn, isAccountActive, served, destinations, directory, manifestsDirectory } = stack;
    const advice = [...(isAccountActive ? [] : [INACTIVE_ACCOUNT]), ...adviseOnUpstreams(options.upstreams, destinations)];
    const models = { served, destinations, upstreamModel: options.upstreams.model, advice };
    const shown = {
      baseUrl,
      apiKey,
      signIn,
      hasProxy: hasProxy(environment),
      ...models,
      settingsFile: directory.settings,
      logsDirectory: directory.logs,
    };
    console.log(renderScreen({ ...shown, manifestsDirectory }, palette));
    const failure = await Promise.race([stack.failed, stop.requested]);
    if (failure !== undefined) console.error(failure);
    else console.log("Stopping: running requests may finish …");
    await stack.stop();
    // A failure may be that the data directory is gone.
    console.log(failure === undefined ? "Stopped; the data is kept." : "Stopped.");
    process.exit(failure === undefined ? 0 : 1);
  } catch (error) {
    if (stop.signal.aborted) process.exit(0);
    console.error(sentenceOf(error, options.dataDirectory));
    process.exit(1);
  }
}
