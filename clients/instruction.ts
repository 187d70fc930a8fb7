import { guideOf, settingsPath, type GuideInput } from "./guide.ts";
import { partMarkdown } from "./markdown.ts";
import { SERVED_TOOLS, TOOLS } from "./table.ts";

/** `{base_url}/install.md`: what an agent should do for its user, and what it must not do (S32). */
export function instructionMarkdown(input: GuideInput): string {
  const { baseUrl, models } = input;
  const found = SERVED_TOOLS.map(({ id, name, commands, folders, interfaces, files }) =>
    row([
      `\`${id}\``,
      name,
      code([...commands, ...folders.map((folder) => `~/${folder}`)]),
      interfaces.join(", "),
      [...new Set(files.map((file) => `\`${settingsPath(file)}\``))].join(", "),
    ]),
  );
  return `${[
    "# Set up coding tools for this model gateway",
    `These instructions are for an agent that sets up a user's tools. The service is at ${baseUrl}: one key, two interfaces. OpenAI-style tools take the base URL ${baseUrl}/v1, Anthropic-style tools ${baseUrl}, without /v1.`,
    "## Rules",
    [
      `- Use the key for calls to ${baseUrl} only. Send it to no other host, and to no search, log or report.`,
      "- Never print the key, and never put it on a command line, into source code or into a repository. Files that contain it are readable only by their owner (mode 0600).",
      "- The user gives the key in the environment variable `MODEL_GATEWAY_API_KEY`, or types it at the installer's own prompt. Do not ask for it in the conversation. If there is none, the user creates one at " +
        `${baseUrl}/dashboard/keys; its full value is shown once. A value with \`****\` in it is a masked form and does not work.`,
      "- Change nothing but the settings named here. Ask the user which tools to set up before you write.",
    ].join("\n"),
    "## Steps",
    "The installer needs Node.js 18 or later. Without it, continue with “By hand” below.",
    "1. Find out what would change. This needs no key and changes nothing:",
    fence("sh", `curl -fsSL ${baseUrl}/install.sh | sh -s -- --dry-run`),
    "2. Run it for the tools that the user chose. With `--yes` it does not ask questions:",
    fence("sh", `curl -fsSL ${baseUrl}/install.sh | sh -s -- --yes --tools claude-code,opencode`),
    `It checks the key with one call, \`GET ${baseUrl}/v1/models\`, backs up each file that it changes, and merges its settings into the existing ones. A second run changes nothing. A tool may name its interface and its model: \`--tools opencode:messages:${models[1]?.name ?? models[0]?.name ?? "NAME"}\`; \`--model NAME\` is for all of them.`,
    `On Windows: \`irm ${baseUrl}/install.ps1 -OutFile install.ps1; ./install.ps1 -Yes -Tools claude-code\`.`,
    "3. If it ends with a status other than 0, its output says which file it left unchanged, why, and what to write there: report that to the user, and write it only with the user's consent.",
    "4. It names variables of other providers by file and line. They may override the setup. Inform the user and, with the user's consent, run it again with `--clear-variables`.",
    "## Check that it worked",
    [
      "Open a new shell, without the old variables, and run the tool's own check:",
      ...SERVED_TOOLS.map(({ name, check }) => `- ${name}: \`${check}\``),
    ].join("\n"),
    "The answer is text from the model. If it is an error, its message says what to do: 401 means a wrong key, 402 no credit, 404 a wrong model name or a doubled /v1.",
    "## Undo it",
    fence("sh", `curl -fsSL ${baseUrl}/install.sh | sh -s -- --uninstall`),
    "Every file is restored byte for byte. From a file that has changed since, only the gateway's settings are removed.",
    "## Tools",
    [row(["Name", "Tool", "Found by", "Interfaces", "Settings"]), row(["---", "---", "---", "---", "---"]), ...found].join("\n"),
    "## Models",
    models.map(({ name, interfaces }) => `- \`${name}\`: ${interfaces.join(", ")}`).join("\n"),
    "## By hand",
    "If the installer cannot run, write these settings into the files and leave everything else in them unchanged. Back up each file first.",
    ...TOOLS.flatMap((tool) => {
      const guide = guideOf(tool, input);
      const byHand = guide.sections.find(({ heading }) => heading === "By hand");
      return [`### ${guide.title}`, ...(byHand === undefined ? [guide.lead] : byHand.parts.map(partMarkdown))];
    }),
  ].join("\n\n")}\n`;
}

/** `{base_url}/llms.txt`: an index for language models. */
export function llmsText({ baseUrl }: GuideInput): string {
  return `${[
    "# Model Gateway",
    "> One prepaid account and one key for hosted language models, over two wire-compatible interfaces: OpenAI's chat completions and Anthropic's messages.",
    `OpenAI-style clients take the base URL ${baseUrl}/v1, Anthropic-style clients ${baseUrl}. The key is used for calls to this service only.`,
    "## Set-up",
    [
      `- [Set up coding tools](${baseUrl}/install.md): complete instructions for an agent`,
      `- [Installer](${baseUrl}/install.sh): the same as a program for sh`,
      `- [Installer for Windows](${baseUrl}/install.ps1): the same for PowerShell`,
      `- [Tools](${baseUrl}/dashboard/clients): a page for each tool`,
    ].join("\n"),
    "## Service",
    [
      `- [Models and prices](${baseUrl}/dashboard/models)`,
      `- [Models of a key](${baseUrl}/v1/models): needs a key`,
      `- [Balance](${baseUrl}/v1/balance): needs a key`,
    ].join("\n"),
  ].join("\n\n")}\n`;
}

function row(cells: readonly string[]): string {
  return `| ${cells.join(" | ")} |`;
}

function code(words: readonly string[]): string {
  return words.length === 0 ? "named only" : words.map((word) => `\`${word}\``).join(", ");
}

function fence(language: string, text: string): string {
  return ["```" + language, text, "```"].join("\n");
}
