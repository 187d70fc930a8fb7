import { aider } from "./tools/aider.ts";
import { BY_HAND } from "./tools/by-hand.ts";
import { claudeCode } from "./tools/claude-code.ts";
import { cline } from "./tools/cline.ts";
import { codex } from "./tools/codex.ts";
import { continueDev } from "./tools/continue.ts";
import { crush } from "./tools/crush.ts";
import { opencode } from "./tools/opencode.ts";
import { qwenCode } from "./tools/qwen-code.ts";
import { anthropicSdk, openaiSdk } from "./tools/sdks.ts";
import type { ServedTool, Tool } from "./tool.ts";

export const SERVED_TOOLS: readonly ServedTool[] = [
  claudeCode,
  opencode,
  qwenCode,
  codex,
  aider,
  continueDev,
  cline,
  crush,
  openaiSdk,
  anthropicSdk,
];

/** Every known tool, whether or not it is supported. */
export const TOOLS: readonly Tool[] = [...SERVED_TOOLS, ...BY_HAND];
