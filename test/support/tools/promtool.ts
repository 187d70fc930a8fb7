import path from "node:path";
import { fileURLToPath } from "node:url";
import { findGoTools, type FindGoToolsOptions } from "../go-tools/go-tools.ts";
import type { GoTools } from "../go-tools/programs.ts";

const PROMTOOL: GoTools = {
  name: "prometheus-tools",
  title: "promtool",
  needers: "The tests of the alerts",
  list: "promtool",
  module: fileURLToPath(new URL("../../prometheus-tools", import.meta.url)),
  packages: ["github.com/prometheus/prometheus/cmd/promtool"],
  // The ways in which Prometheus finds its targets in clouds: most of what there would be to build.
  flags: ["-tags", "remove_all_sd"],
  linked: {},
  renamed: {},
  programs: [["promtool", "--version"]],
  minutes: 3,
  alternative: "",
};

/**
 * Path of promtool, built from test/prometheus-tools/go.mod.
 * @throws Error with one sentence that names the package to install.
 */
export async function findPromtool(options: FindGoToolsOptions): Promise<string> {
  return path.join(await findGoTools(PROMTOOL, options), "promtool");
}
