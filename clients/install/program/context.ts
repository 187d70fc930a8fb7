import type { Served } from "./served.ts";

/** The machine on which the program runs. */
export interface Context {
  served: Served;
  environment: Readonly<Record<string, string | undefined>>;
  platform: NodeJS.Platform;
  home: string;
  /** Where copies of changed files are kept. */
  state: string;
  print(line: string): void;
  warn(line: string): void;
}

export function keysPage({ served }: Context): string {
  return `${served.baseUrl}/dashboard/keys`;
}

export function shownCommand({ served, platform }: Context, words: { unix: string; windows: string }): string {
  return platform === "win32"
    ? `./install.ps1 ${words.windows}`
    : `curl -fsSL ${served.baseUrl}/install.sh | sh -s -- ${words.unix}`;
}
