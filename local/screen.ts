import type { Served } from "./served.ts";

export interface ScreenContent {
  baseUrl: string;
  apiKey: string;
  served: Served;
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

/** What is shown once everything is ready. The two commands work when pasted into a POSIX shell. */
export function renderScreen(content: ScreenContent, { bold, dim }: Palette): string {
  const { served } = content;
  return [
    "",
    `${bold("The gateway is ready")} at ${bold(content.baseUrl)}`,
    "",
    `  key        ${content.apiKey}`,
    `  dashboard  ${content.baseUrl}/dashboard ${dim("sign in with DASHBOARD_EMAIL, DASHBOARD_PASSWORD from the settings")}`,
    `  settings   ${content.settingsFile} ${dim("all of this, for source")}`,
    `  manifests  ${content.manifestsDirectory} ${dim("watched: change a Model and it takes effect")}`,
    `  logs       ${content.logsDirectory}`,
    "",
    ...command("Chat completions", chooseModel(served.chat, "modelx-v4-pro"), (model) => chatCommand(content, model), bold),
    ...command("Messages", chooseModel(served.messages, "modelx-v4-flash"), (model) => messagesCommand(content, model), bold),
    dim("Ctrl-C stops everything; the data stays, and the next start goes on from it."),
    "",
  ].join("\n");
}

export function chatCommand({ baseUrl, apiKey }: ScreenContent, model: string): string {
  const body = { model, stream: true, messages: [{ role: "user", content: "Hello" }] };
  return curl(`${baseUrl}/v1/chat/completions`, [`authorization: Bearer ${apiKey}`], body);
}

function messagesCommand({ baseUrl, apiKey }: ScreenContent, model: string): string {
  const body = { model, max_tokens: 500, stream: true, messages: [{ role: "user", content: "Hello" }] };
  return curl(`${baseUrl}/v1/messages`, [`x-api-key: ${apiKey}`, "anthropic-version: 2023-06-01"], body);
}

export function chooseModel(names: readonly string[], wanted: string): string | undefined {
  return names.includes(wanted) ? wanted : names[0];
}

function command(title: string, model: string | undefined, write: (model: string) => string, bold: Palette["bold"]): string[] {
  if (model === undefined) return [`${bold(title)}: no Model is served on this interface.`, ""];
  return [bold(title), write(model), ""];
}

function curl(url: string, headers: readonly string[], body: object): string {
  const options = [...headers, "content-type: application/json"].map((header) => `  -H ${quote(header)}`);
  return [`curl -N ${url}`, ...options, `  -d ${quote(JSON.stringify(body))}`].join(" \\\n");
}

/** For a POSIX shell: a model's name comes from a manifest and may hold anything. */
function quote(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}
