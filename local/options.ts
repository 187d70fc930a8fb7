import { isIPv4 } from "node:net";
import { Command, InvalidArgumentError, Option } from "commander";
import { LOOPBACK } from "./process/ports.ts";
import { explainSwallowedFlags } from "./swallowed-flags.ts";
import type { UpstreamOptions } from "./upstreams.ts";

export interface LocalOptions {
  /** Address on which clients connect. */
  host: string;
  port: number;
  dataDirectory: string;
  /** If absent, the one in the data directory. */
  manifestsDirectory?: string;
  upstreams: UpstreamOptions;
  workers: number;
}

/**
 * Reads the command line. commander prints `--help` and mistakes, and exits.
 * @param given without the program and its file.
 * @param environment UPSTREAM_KEY and flags that npm consumed are read from it.
 */
export function parseOptions(given: readonly string[], environment: Readonly<Record<string, string | undefined>>): LocalOptions {
  // npm removes the two dashes, and pnpm passes them on.
  const words = given[0] === "--" ? given.slice(1) : given;
  let parsed: LocalOptions | undefined;
  const command = createCommand((values) => {
    parsed = toOptions(values, environment);
  });
  const flags = command.options.map(({ long }) => (long ?? "").slice(2));
  const swallowed = explainSwallowedFlags(flags, words, environment);
  if (swallowed !== undefined) command.error(`error: ${swallowed}`);
  command.parse(words, { from: "user" });
  if (parsed === undefined) throw new Error("The command line has not been read.");
  return parsed;
}

const MAX_WORKERS = 64;

interface Values {
  host: string;
  port: number;
  data: string;
  manifests?: string;
  upstreamChat?: string;
  upstreamMessages?: string;
  upstreamResponses?: string;
  upstreamKey?: string;
  upstreamModel?: string;
  workers: number;
}

export function createCommand(onParsed: (values: Values) => void): Command {
  return new Command("npm start --")
    .description(
      "Runs the whole gateway on this machine: Envoy, extproc, operator, dashboard, Postgres and a simulated model server.",
    )
    .addOption(
      new Option("--host <address>", "address for clients; 0.0.0.0 allows other machines").default(LOOPBACK).argParser(parseHost),
    )
    .addOption(new Option("--port <port>", "where clients connect").default(8080).argParser(parsePort))
    .addOption(new Option("--data <dir>", "directory for all data").default(".data").argParser(parseWord))
    .addOption(
      new Option("--manifests <dir>", "folder of Model manifests to watch; if absent, the one in the data directory").argParser(
        parseWord,
      ),
    )
    .addOption(
      new Option("--upstream-chat <url>", "a real server for chat completions, with /v1: http://127.0.0.1:11434/v1").argParser(
        parseChatUrl,
      ),
    )
    .addOption(new Option("--upstream-messages <url>", "a real server for messages, without /v1").argParser(parseMessagesUrl))
    .addOption(
      new Option("--upstream-responses <url>", "a real server for Responses, with /v1: https://api.openai.com/v1").argParser(
        parseResponsesUrl,
      ),
    )
    .option("--upstream-key <key>", "its key; prefer the environment variable UPSTREAM_KEY, which the process list does not show")
    .addOption(
      new Option("--upstream-model <name>", "the model's name on that server; clients may use it too").argParser(parseWord),
    )
    .addOption(
      new Option("--workers <count>", "worker processes of extproc, each of which can use one core")
        .default(1)
        .argParser(parseWorkers),
    )
    .showHelpAfterError("Run npm start -- --help for the flags.")
    .allowExcessArguments(false)
    .action((values: Values, command: Command) => {
      const servers = [values.upstreamChat, values.upstreamMessages, values.upstreamResponses];
      if (values.upstreamModel !== undefined && servers.every((server) => server === undefined))
        command.error(
          "error: --upstream-model needs a server: add --upstream-chat, --upstream-messages or --upstream-responses.",
        );
      onParsed(values);
    });
}

function toOptions(values: Values, environment: Readonly<Record<string, string | undefined>>): LocalOptions {
  const key = values.upstreamKey ?? environment.UPSTREAM_KEY;
  const upstreams: UpstreamOptions = {
    ...(values.upstreamChat === undefined ? {} : { chatUrl: values.upstreamChat }),
    ...(values.upstreamMessages === undefined ? {} : { messagesUrl: values.upstreamMessages }),
    ...(values.upstreamResponses === undefined ? {} : { responsesUrl: values.upstreamResponses }),
    ...(key === undefined || key === "" ? {} : { key }),
    ...(values.upstreamModel === undefined ? {} : { model: values.upstreamModel }),
  };
  const { host, port, data: dataDirectory, manifests, workers } = values;
  return { host, port, dataDirectory, ...(manifests === undefined ? {} : { manifestsDirectory: manifests }), upstreams, workers };
}

function parseHost(text: string): string {
  if (isIPv4(text)) return text;
  throw new InvalidArgumentError("It must be an IPv4 address such as 127.0.0.1, or 0.0.0.0 for all addresses of this machine.");
}

function parsePort(text: string): number {
  const port = Number(text);
  if (/^\d+$/.test(text) && port <= 65_535) return port;
  throw new InvalidArgumentError("It must be a number from 1 to 65535, or 0 for any free port.");
}

function parseWorkers(text: string): number {
  const workers = Number(text);
  if (/^\d+$/.test(text) && workers >= 1 && workers <= MAX_WORKERS) return workers;
  throw new InvalidArgumentError(`It must be a number from 1 to ${MAX_WORKERS}.`);
}

/** Empty is what a shell passes for a variable that is not set. */
function parseWord(text: string): string {
  if (text.trim() !== "") return text;
  throw new InvalidArgumentError("It must not be empty.");
}

/** As strict as the url of a Model, which it becomes: the start screen shows it, and only a path can be appended to it. */
function parseUrl(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol)) throw new InvalidArgumentError("It must be an http or https URL.");
  if (url.username !== "" || url.password !== "")
    throw new InvalidArgumentError("It must not contain a credential: set the server's key in UPSTREAM_KEY.");
  if (/[?#]/.test(text)) throw new InvalidArgumentError("It must not contain a query or a fragment.");
  return text.replace(/\/+$/, "");
}

function parseChatUrl(text: string): string {
  const url = parseUrl(text);
  if (!url.endsWith("/chat/completions")) return url;
  throw new InvalidArgumentError("It must end before /chat/completions: the gateway adds that.");
}

function parseResponsesUrl(text: string): string {
  const url = parseUrl(text);
  if (!url.endsWith("/responses")) return url;
  throw new InvalidArgumentError("It must end before /responses: the gateway adds that.");
}

function parseMessagesUrl(text: string): string {
  const url = parseUrl(text);
  if (!/\/v1(\/messages)?$/.test(url)) return url;
  throw new InvalidArgumentError("It must end before /v1: the gateway adds /v1/messages.");
}
