import { readFile } from "node:fs/promises";
import path from "node:path";
import { parse } from "yaml";
import * as z from "zod";
import { PROGRAMS } from "../../../bundle/programs.ts";
import { REPOSITORY } from "../documents/repository-files.ts";
import { IN_IMAGE } from "../test-run/programs.ts";

const words = z.array(z.string()).default([]);

const serviceSchema = z.object({
  image: z.string(),
  build: z.object({ context: z.string(), target: z.string().optional() }).optional(),
  entrypoint: words,
  command: words,
  user: z.string().optional(),
  environment: z.record(z.string(), z.string()).default({}),
  volumes: words,
  ports: words,
  networks: words,
  network_mode: z.string().optional(),
  healthcheck: z.object({ test: words }).optional(),
  depends_on: z.record(z.string(), z.object({ condition: z.string() })).default({}),
});

const composeSchema = z.object({
  services: z.record(z.string(), serviceSchema),
  networks: z.record(z.string(), z.object({ internal: z.boolean().optional() })),
  volumes: z.record(z.string(), z.unknown()),
});

export type ComposeService = z.infer<typeof serviceSchema>;
export type ComposeFile = z.infer<typeof composeSchema>;

/** compose.yaml as Docker Compose reads it when the user has set no variable. */
export async function readComposeFile(): Promise<ComposeFile> {
  const text = await readFile(path.join(REPOSITORY, "compose.yaml"), "utf8");
  const interpolated = text.replaceAll(/\$(?:\$|\{\w+:-([^}]*)\})/g, (_, fallback?: string) => fallback ?? "$");
  return composeSchema.parse(parse(interpolated, { merge: true }));
}

/** Where a service finds a volume, or a folder of this repository. */
export function mountsOf(service: ComposeService): { source: string; target: string; isReadOnly: boolean }[] {
  return service.volumes.map((volume) => {
    const [source = "", target = "", mode] = volume.split(":");
    return { source, target, isReadOnly: mode === "ro" };
  });
}

/** The file of this repository that a service runs, if need be as a bundle. */
export function programOf(service: ComposeService): { file: string; isBundled: boolean } | undefined {
  const bundled = PROGRAMS.find((program) => service.command.includes(IN_IMAGE(program)));
  if (bundled !== undefined) return { file: bundled, isBundled: true };
  const file = service.command.find((word) => word.endsWith(".ts"));
  return file === undefined ? undefined : { file, isBundled: false };
}
