import { jsonSetting } from "../setting.ts";
import type { ServedTool } from "../tool.ts";

export const cline: ServedTool = {
  kind: "served",
  id: "cline",
  name: "Cline CLI",
  tried: { registry: "npm", package: "cline", version: "3.0.65" },
  interfaces: ["chat"],
  commands: ["cline"],
  folders: [".cline"],
  files: [
    {
      interface: "chat",
      format: "json",
      folderVariable: null,
      folder: ".cline",
      names: ["data/settings/providers.json"],
      settings: [
        jsonSetting(["version"], 1, "default"),
        jsonSetting(["lastUsedProvider"], "openai-compatible"),
        jsonSetting(["modes"], {}, "default"),
        jsonSetting(["providers", "openai-compatible", "settings"], {
          provider: "openai-compatible",
          apiKey: "@key@",
          model: "@model@",
          baseUrl: "@base@/v1",
        }),
        jsonSetting(["providers", "openai-compatible", "updatedAt"], "2026-01-01T00:00:00.000Z", "touch"),
        jsonSetting(["providers", "openai-compatible", "tokenSource"], "manual", "touch"),
      ],
    },
  ],
  clear: [],
  check: 'cline "Say hello."',
  afterwards: [],
  limits: ["It sends usage statistics to its vendor."],
  otherHosts: ["data.cline.bot", "otel.cline.bot"],
};
