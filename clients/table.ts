import { claudeCode } from "./tools/claude-code.ts";
import { opencode } from "./tools/opencode.ts";
import { qwenCode } from "./tools/qwen-code.ts";
import { anthropicSdk, openaiSdk } from "./tools/sdks.ts";
import type { ServedTool, Tool } from "./tool.ts";

/** Every tool that is known, whether it can be served or not. */
export const TOOLS: readonly Tool[] = [claudeCode, opencode, qwenCode, openaiSdk, anthropicSdk];

export const SERVED_TOOLS: readonly ServedTool[] = TOOLS.filter((tool) => tool.kind === "served");
