import type { Destinations, ModelServer } from "./destinations.ts";
import type { Served } from "./served.ts";

export interface ScreenContent {
  baseUrl: string;
  apiKey: string;
  signIn: { email: string; password: string | undefined };
  /** curl would use a proxy, which cannot reach this machine. */
  hasProxy: boolean;
  served: Served;
  destinations: Destinations;
  /** --upstream-model: the printed commands use it. */
  upstreamModel: string | undefined;
  /** Advice about the command line, a sentence each. */
  advice: readonly string[];
  settingsFile: string;
  manifestsDirectory: string;
  logsDirectory: string;
}

export interface Palette {
  bold(text: string): string;
  dim(text: string): string;
}

export const PLAIN: Palette = { bold: (text) => text, dim: (text) => text };
export const COLOURED: Palette = { bold: (text) => `\u001b[1m${text}\u001b[22m`, dim: (text) => `\u001b[2m${text}\u001b[22m` };

/** The screen when everything is ready. The two commands work when pasted into a POSIX shell. */
export function renderScreen(content: ScreenContent, { bold, dim }: Palette): string {
  const { served } = content;
  return [
    "",
    ...content.advice.map((sentence) => `${bold("Note:")} ${sentence}`),
    ...(content.advice.length > 0 ? [""] : []),
    `${bold("The gateway is ready")} at ${bold(content.baseUrl)}`,
    "",
    `  key        ${content.apiKey}`,
    `  dashboard  ${content.baseUrl}/dashboard`,
    `  email      ${content.signIn.email}`,
    `  password   ${shownPassword(content.signIn.password)}`,
    `  settings   ${content.settingsFile} ${dim("(the same values, to source in a shell)")}`,
    `  manifests  ${content.manifestsDirectory} ${dim("(edit them: changes take effect within a second)")}`,
    `  logs       ${content.logsDirectory}`,
    ...modelLines(content, dim),
    "",
    ...command(
      "Chat completions",
      chooseModel(served.chat, "modelx-v4-pro", content),
      (model) => chatCommand(content, model),
      bold,
    ),
    ...command(
      "Messages",
      chooseModel(served.messages, "modelx-v4-flash", content),
      (model) => messagesCommand(content, model),
      bold,
    ),
    dim("Ctrl-C stops everything. The data is kept for the next start."),
    "",
  ].join("\n");
}

export function shownPassword(password: string | undefined): string {
  return password ?? "the one that you set in the dashboard";
}

type Target = Pick<ScreenContent, "baseUrl" | "apiKey" | "hasProxy">;

export function chatCommand({ baseUrl, apiKey, hasProxy }: Target, model: string): string {
  const body = { model, stream: true, messages: [{ role: "user", content: "Hello" }] };
  return curl(`${baseUrl}/v1/chat/completions`, [`authorization: Bearer ${apiKey}`], body, hasProxy);
}

export function messagesCommand({ baseUrl, apiKey, hasProxy }: Target, model: string): string {
  const body = { model, max_tokens: 500, stream: true, messages: [{ role: "user", content: "Hello" }] };
  return curl(`${baseUrl}/v1/messages`, [`x-api-key: ${apiKey}`, "anthropic-version: 2023-06-01"], body, hasProxy);
}

/** A model that goes to the given server, if there is one. */
export function chooseModel(
  names: readonly string[],
  wanted: string,
  { destinations, upstreamModel }: Pick<ScreenContent, "destinations" | "upstreamModel">,
): string | undefined {
  const given = names.filter((name) => destinations.get(name)?.some(({ kind }) => kind === "given"));
  const candidates = given.length > 0 ? given : names;
  return [upstreamModel, wanted].find((name) => name !== undefined && candidates.includes(name)) ?? candidates[0];
}

const MODELS_SHOWN = 12;

/** One line per Model: where its requests go. */
function modelLines({ served, destinations }: ScreenContent, dim: Palette["dim"]): string[] {
  const names = [...new Set([...served.chat, ...served.messages])];
  const shown = names.slice(0, MODELS_SHOWN);
  const width = Math.max(0, ...shown.map((name) => name.length));
  const lines = shown.map((name) => `${name.padEnd(width)}  ${(destinations.get(name) ?? []).map(describeServer).join(", ")}`);
  if (names.length > shown.length) lines.push(dim(`and ${names.length - shown.length} more`));
  return lines.map((line, index) => `  ${(index === 0 ? "models" : "").padEnd(10)} ${line}`.trimEnd());
}

function describeServer({ kind, url, upstreamModel }: ModelServer): string {
  return kind === "simulated" ? "simulated" : `${url}, model ${upstreamModel}`;
}

function command(title: string, model: string | undefined, write: (model: string) => string, bold: Palette["bold"]): string[] {
  if (model === undefined) return [`${bold(title)}: no Model serves this interface.`, ""];
  return [bold(title), write(model), ""];
}

function curl(url: string, headers: readonly string[], body: object, hasProxy: boolean): string {
  const options = [...headers, "content-type: application/json"].map((header) => `  -H ${quote(header)}`);
  return [`curl -N ${hasProxy ? "--noproxy '*' " : ""}${url}`, ...options, `  -d ${quote(JSON.stringify(body))}`].join(" \\\n");
}

/** For a POSIX shell: a model's name comes from a manifest and may contain anything. */
function quote(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}
