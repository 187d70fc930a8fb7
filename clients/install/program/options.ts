import { parseArgs } from "node:util";
import { Stopped } from "./refused.ts";

export interface Options {
  tools: string;
  model: string;
  interface: string;
  isDryRun: boolean;
  isYes: boolean;
  isUninstall: boolean;
  clearsVariables: boolean;
  show: "help" | "list" | undefined;
}

const OPTIONS = {
  tools: { type: "string" },
  model: { type: "string" },
  interface: { type: "string" },
  "dry-run": { type: "boolean" },
  yes: { type: "boolean", short: "y" },
  uninstall: { type: "boolean" },
  "clear-variables": { type: "boolean" },
  list: { type: "boolean" },
  help: { type: "boolean", short: "h" },
} as const;

const INTERFACES = ["", "chat", "messages", "responses"];

/** @throws Stopped if an option is unknown or lacks its value. */
export function readOptions(words: readonly string[]): Options {
  const { values, tokens, positionals } = parseArgs({ args: [...words], options: OPTIONS, strict: false, tokens: true });
  for (const token of tokens) {
    if (token.kind !== "option") continue;
    const option = Object.entries(OPTIONS).find(([name]) => name === token.name)?.[1];
    if (option === undefined) throw new Stopped(`There is no option ${token.rawName}. --help lists the options.`);
    if (option.type === "string" && !token.value) throw new Stopped(`${token.rawName} needs a value. --help lists the options.`);
  }
  const [positional] = positionals;
  if (positional !== undefined) throw new Stopped(`There is no option ${positional}. --help lists the options.`);
  const text = (name: "tools" | "model" | "interface"): string => {
    const value = values[name];
    return typeof value === "string" ? value : "";
  };
  if (!INTERFACES.includes(text("interface"))) throw new Stopped("--interface must be chat, messages or responses.");
  return {
    tools: text("tools"),
    model: text("model"),
    interface: text("interface"),
    isDryRun: values["dry-run"] === true,
    isYes: values.yes === true,
    isUninstall: values.uninstall === true,
    clearsVariables: values["clear-variables"] === true,
    show: values.help === true ? "help" : values.list === true ? "list" : undefined,
  };
}

export function helpText({ baseUrl, state }: { baseUrl: string; state: string }): string {
  return `Sets up coding tools for the model gateway at ${baseUrl}.

  curl -fsSL ${baseUrl}/install.sh | sh
  curl -fsSL ${baseUrl}/install.sh | sh -s -- --yes --tools claude-code,opencode

On Windows, in PowerShell:

  irm ${baseUrl}/install.ps1 -OutFile install.ps1
  ./install.ps1 -Yes -Tools claude-code,opencode

The key comes from the environment variable MODEL_GATEWAY_API_KEY; without it, the program asks for
the key. It sends the key once, to ${baseUrl} only, to check it, and
writes it into the settings of the tools that you choose. It never shows the key.

  --tools A,B          set up these tools; "all" for every tool found. A tool may have its own
                       interface and model: opencode:messages:modelx-v4-flash
  --model NAME         the model that the tools start with
  --interface NAME     chat, messages or responses, for tools that support several
  --clear-variables    comment out lines of your shell's profiles that set other providers' variables
  --dry-run            show what would be written, and write nothing
  --yes                ask no questions
  --uninstall          restore every file
  --list               list the tools that this program can set up
  --help               show this text

On Windows the options are -Tools, -Model, -Interface, -DryRun, -Yes, -Uninstall, -List and -Help.

Backups of changed files are kept in ${state}.`;
}
