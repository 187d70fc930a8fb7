import { jsonSetting, numberOf } from "../setting.ts";
import type { ServedTool } from "../tool.ts";

export const qwenCode: ServedTool = {
  kind: "served",
  id: "qwen-code",
  name: "Qwen Code",
  tried: { registry: "npm", package: "@qwen-code/qwen-code", version: "0.24.4" },
  interfaces: ["chat"],
  commands: ["qwen"],
  folders: [".qwen"],
  files: [
    {
      interface: "chat",
      format: "jsonc",
      folderVariable: null,
      folder: ".qwen",
      names: ["settings.json"],
      settings: [
        jsonSetting(["env", "MODEL_GATEWAY_API_KEY"], "@key@"),
        jsonSetting(
          ["modelProviders", "openai", "[id=@id@]"],
          {
            id: "@id@",
            name: "@id@",
            baseUrl: "@base@/v1",
            envKey: "MODEL_GATEWAY_API_KEY",
            generationConfig: { contextWindowSize: numberOf("context") },
          },
          "each",
        ),
        jsonSetting(["security", "auth", "selectedType"], "openai"),
        jsonSetting(["model", "name"], "@model@"),
        // It would report its usage to its vendor, including errors of this service.
        jsonSetting(["privacy", "usageStatisticsEnabled"], false, "default"),
      ],
    },
  ],
  // The list of models has a separate address for each, and its key's variable is ours.
  clear: ["OPENAI_MODEL", "QWEN_MODEL"],
  check: 'qwen -p "Say hello."',
  afterwards: [],
  limits: [],
  otherHosts: [],
};
