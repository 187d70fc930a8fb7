import path from "node:path";
import { fileURLToPath } from "node:url";
import { findGoTools, type FindGoToolsOptions } from "../go-tools/go-tools.ts";
import type { GoTools } from "../go-tools/programs.ts";

export const GO_SDKS_MODULE = fileURLToPath(new URL("../../clients/go", import.meta.url));

const SDKS: GoTools = {
  name: "go-sdks",
  title: "the SDKs for Go",
  needers: "The tests of the SDKs for Go",
  list: "a program that uses the SDKs for Go",
  module: GO_SDKS_MODULE,
  packages: ["."],
  flags: [],
  linked: {},
  renamed: { clients: "conversation" },
  programs: [["conversation", "version"]],
  minutes: 1,
  alternative: "",
};

/** The program that talks through the official SDKs for Go, built from test/clients/go/go.mod. */
export async function findGoSdks(options: FindGoToolsOptions): Promise<string> {
  return path.join(await findGoTools(SDKS, options), "conversation");
}
