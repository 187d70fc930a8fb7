import { exampleFile } from "./example.ts";
import type { OfferedModel } from "./models.ts";
import type { InterfaceName, ServedTool, SettingsFile, Tool } from "./tool.ts";

export type Part =
  | { kind: "text"; text: string }
  | { kind: "list"; items: readonly string[] }
  | { kind: "code"; language: string; text: string };

interface Section {
  heading: string;
  parts: readonly Part[];
}

/** Set-up of one tool, for its page in the documentation and in the dashboard. */
export interface Guide {
  title: string;
  lead: string;
  sections: readonly Section[];
}

export interface GuideInput {
  baseUrl: string;
  models: readonly OfferedModel[];
}

export const INTERFACE_NAMES: Readonly<Record<InterfaceName, string>> = {
  chat: "chat completions",
  messages: "messages",
  responses: "Responses",
};

const LANGUAGES = { json: "json", jsonc: "jsonc", toml: "toml", yaml: "yaml", env: "sh" } as const;

export function guideOf(tool: Tool, input: GuideInput): Guide {
  switch (tool.kind) {
    case "served":
      return servedGuide(tool, input);
    case "manual":
      return {
        title: tool.name,
        lead: `The installer cannot set it up. ${tool.because}`,
        sections: [
          { heading: "By hand", parts: [{ kind: "list", items: tool.steps.map((step) => fillStep(step, input)) }] },
          ...limitsSection(tool.limits),
        ],
      };
    case "unserved":
      return { title: tool.name, lead: `It does not work with this service. ${tool.because}`, sections: [] };
  }
}

function servedGuide(tool: ServedTool, input: GuideInput): Guide {
  const installer = `curl -fsSL ${input.baseUrl}/install.sh | sh -s -- --tools ${tool.id}`;
  return {
    title: tool.name,
    lead: `It uses the ${tool.interfaces.map((name) => INTERFACE_NAMES[name]).join(" or the ")} interface. ${triedSentence(tool)}`,
    sections: [
      {
        heading: "With the installer",
        parts: [
          { kind: "code", language: "sh", text: installer },
          {
            kind: "text",
            text: "It asks for the key, checks it with one call to this service, and merges the settings below into your existing ones. With --uninstall it restores them.",
          },
        ],
      },
      { heading: "By hand", parts: tool.files.flatMap((file) => fileParts(tool, file, input)) },
      { heading: "Check that it works", parts: [{ kind: "code", language: "sh", text: tool.check }] },
      ...clearSection(tool),
      ...limitsSection([...tool.afterwards.filter((sentence) => sentence.endsWith(".")), ...tool.limits]),
    ],
  };
}

function triedSentence({ tried, notTriedBecause }: ServedTool): string {
  if (tried === null) return `Not tested. ${notTriedBecause ?? ""}`;
  return `Tested with version ${tried.version} (${tried.package} on ${tried.registry}).`;
}

function fileParts(tool: ServedTool, file: SettingsFile, { baseUrl, models }: GuideInput): Part[] {
  const usable = models.filter(({ interfaces }) => interfaces.includes(file.interface));
  const where = `${settingsPath(file)}${file.folderVariable === null ? "" : ` (${file.folderVariable} changes the folder)`}`;
  const speaks = tool.interfaces.length > 1 ? `For the ${INTERFACE_NAMES[file.interface]} interface, in ` : "In ";
  const [model] = usable;
  if (model === undefined)
    return [{ kind: "text", text: `${speaks}${where}: no model is available on this interface at the moment.` }];
  const text = exampleFile(file, { baseUrl, key: "<your key>", models: usable, model });
  return [
    { kind: "text", text: `${speaks}${where}:` },
    { kind: "code", language: LANGUAGES[file.format], text },
  ];
}

export function settingsPath({ folder, names }: SettingsFile): string {
  return names.map((name) => (folder === "." ? `~/${name}` : `~/${folder}/${name}`)).join(" or ");
}

function clearSection({ clear }: ServedTool): Section[] {
  if (clear.length === 0) return [];
  const text = `Variables of another provider may override these settings. Clear them in your shell and its profile: ${clear.join(", ")}.`;
  return [{ heading: "Old variables", parts: [{ kind: "text", text }] }];
}

function limitsSection(limits: readonly string[]): Section[] {
  return limits.length === 0 ? [] : [{ heading: "Good to know", parts: [{ kind: "list", items: limits }] }];
}

function fillStep(step: string, { baseUrl, models }: GuideInput): string {
  return step.replaceAll("@base@", baseUrl).replaceAll("@model@", models[0]?.name ?? "a model's name");
}
