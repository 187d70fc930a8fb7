import type { InterfaceName } from "../../clients/tool.ts";
import type { ClientPackages } from "../support/clients/packages.ts";
import { scriptOf } from "../support/clients/installer.ts";

/** How the tests run a tool without a person, and what they have the simulated model do with it. */
export interface Case {
  tool: string;
  interface: InterfaceName;
  program(packages: ClientPackages): readonly string[];
  /** Words after the program, for a question that is answered in text. */
  ask(prompt: string): readonly string[];
  /** The same, allowed to edit files. */
  edit(prompt: string): readonly string[];
  /** What makes the model change “two” into “three” in a file. */
  script(file: string): string;
  /** Whether the file is changed by a tool call, or by text of the tool's own format. */
  editsBy: "tools" | "text";
}

const PATCH = { old_string: "two", new_string: "three" };

const claudeCode: Case = {
  tool: "claude-code",
  interface: "messages",
  program: (packages) => [packages.nodePackage("@anthropic-ai/claude-code-linux-x64/claude")],
  ask: (prompt) => ["-p", prompt],
  edit: (prompt) => ["-p", prompt, "--permission-mode", "acceptEdits"],
  script: (file) =>
    scriptOf([
      { tool: "Read", input: { file_path: file } },
      { tool: "Edit", input: { file_path: file, ...PATCH } },
    ]),
  editsBy: "tools",
};

const opencode: Case = {
  tool: "opencode",
  interface: "chat",
  program: (packages) => [packages.nodePackage("opencode-linux-x64-baseline/bin/opencode")],
  ask: (prompt) => ["run", prompt],
  edit: (prompt) => ["run", prompt],
  script: (file) =>
    scriptOf([
      { tool: "read", input: { filePath: file } },
      { tool: "edit", input: { filePath: file, oldString: "two", newString: "three" } },
    ]),
  editsBy: "tools",
};

const qwenCode: Case = {
  tool: "qwen-code",
  interface: "chat",
  program: (packages) => ["node", packages.nodePackage("@qwen-code/qwen-code/cli-entry.js")],
  ask: (prompt) => ["-p", prompt],
  edit: (prompt) => ["-p", prompt, "--approval-mode", "auto-edit"],
  script: (file) =>
    scriptOf([
      { tool: "read_file", input: { file_path: file } },
      { tool: "edit", input: { file_path: file, ...PATCH } },
    ]),
  editsBy: "tools",
};

const aider: Case = {
  tool: "aider",
  interface: "chat",
  program: (packages) => [packages.aiderProgram("aider")],
  ask: (prompt) => ["--no-git", "--no-pretty", "--no-check-update", "--yes-always", "--message", prompt],
  edit: (prompt) => [
    "--no-git",
    "--no-pretty",
    "--no-check-update",
    "--yes-always",
    "--edit-format",
    "whole",
    "--message",
    prompt,
    "note.txt",
  ],
  script: () => `[[sim say=${encodeURIComponent("note.txt\n```\none\nthree\n```\n")}]]`,
  editsBy: "text",
};

const continueDev: Case = {
  tool: "continue",
  interface: "chat",
  program: (packages) => ["node", packages.nodePackage("@continuedev/cli/dist/cn.js")],
  ask: (prompt) => ["-p", prompt],
  edit: (prompt) => ["--auto", "-p", prompt],
  script: (file) =>
    scriptOf([
      { tool: "Read", input: { filepath: file } },
      { tool: "Edit", input: { file_path: file, ...PATCH } },
    ]),
  editsBy: "tools",
};

const cline: Case = {
  tool: "cline",
  interface: "chat",
  program: (packages) => [packages.nodePackage("@cline/cli-linux-x64/bin/cline")],
  ask: (prompt) => [prompt],
  edit: (prompt) => [prompt],
  script: (file) =>
    scriptOf([
      { tool: "read_files", input: { files: [{ path: file }] } },
      { tool: "editor", input: { path: file, old_text: "two", new_text: "three" } },
    ]),
  editsBy: "tools",
};

const codex: Case = {
  tool: "codex",
  interface: "responses",
  program: (packages) => [packages.nodePackage("@openai/codex-linux-x64/vendor/x86_64-unknown-linux-musl/bin/codex")],
  ask: (prompt) => ["exec", "--skip-git-repo-check", prompt],
  // Its sandbox needs rights that a container may not have.
  edit: (prompt) => ["exec", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox", prompt],
  script: (file) =>
    scriptOf([
      { tool: "exec_command", input: { cmd: `cat ${file}` } },
      { tool: "exec_command", input: { cmd: `apply_patch <<'END'\n${codexPatch(file)}END\n` } },
    ]),
  editsBy: "tools",
};

/** In the words that its own command takes. */
function codexPatch(file: string): string {
  return `*** Begin Patch\n*** Update File: ${file}\n@@\n one\n-two\n+three\n*** End Patch\n`;
}

/**
 * By day a tool for messages, one for Responses, and one that edits by text; at night all, those with two interfaces on each.
 * Opencode asks through Vercel's AI SDK, which has its own tests by day (clients-vercel.test.ts), and the installer sets all of
 * them up by day, too (settings-files.test.ts, installer.test.ts).
 */
export function casesOf({ isNight }: { isNight: boolean }): readonly Case[] {
  if (!isNight) return [claudeCode, codex, aider];
  const messages = (tool: Case): Case => ({ ...tool, interface: "messages" });
  return [claudeCode, opencode, messages(opencode), qwenCode, codex, aider, continueDev, messages(continueDev), cline];
}
