import { SUITES, type Suite } from "./base.ts";
import type { Toolchain } from "./toolchain.ts";

/** Each npm with the Node.js versions that it says it supports. */
const SUPPORTED: ReadonlyMap<string, readonly string[]> = new Map([
  ["9.2", ["18", "20"]],
  ["10.8", ["18", "20", "22"]],
  ["10.9", ["18", "20", "22"]],
  ["11.0", ["20", "22", "24"]],
  ["11.21", ["22", "24"]],
  ["12", ["22", "24"]],
]);

export const EVERY_NPM = ["debian", ...SUPPORTED.keys()];

export interface Target {
  suite: Suite;
  toolchain: Toolchain;
}

export interface MatrixOptions {
  suites: readonly string[];
  node: readonly string[];
  npm: readonly string[];
}

/** Where the commands are walked. "debian" among the versions of npm is Debian's own, with its own Node.js. */
export function listTargets({ suites, node, npm }: MatrixOptions): Target[] {
  const toolchains: Toolchain[] = npm.flatMap((version): Toolchain[] => {
    if (version === "debian") return [{ kind: "debian" }];
    const supported = SUPPORTED.get(version);
    if (supported === undefined) throw new Error(`--npm takes ${EVERY_NPM.join(", ")}, and not ${version}.`);
    return supported
      .filter((each) => node.length === 0 || node.includes(each))
      .map((each) => ({ kind: "packages", node: each, npm: version }));
  });
  return suites.flatMap((name) => {
    const suite = parseSuite(name);
    return toolchains.map((toolchain) => ({ suite, toolchain }));
  });
}

function parseSuite(name: string): Suite {
  if (name === "bookworm" || name === "trixie") return name;
  throw new Error(`--suite takes ${Object.keys(SUITES).join(", ")}, and not ${name}.`);
}
