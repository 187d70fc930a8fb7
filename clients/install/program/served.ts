import type { OfferedModel } from "../../models.ts";
import type { ServedTool } from "../../tool.ts";

/** Values that the service puts in front of the program when it serves it. */
export interface Served {
  /** Without `/v1` and without a trailing slash. */
  baseUrl: string;
  tools: readonly InstallableTool[];
  models: readonly OfferedModel[];
}

export type InstallableTool = Pick<
  ServedTool,
  "id" | "name" | "interfaces" | "commands" | "folders" | "files" | "clear" | "afterwards"
>;
