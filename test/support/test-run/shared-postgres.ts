import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import type { TestProject } from "vitest/node";
import { startPostgres } from "../../../local/postgres.ts";
import { makePostgresTemplate } from "../billing/postgres-template.ts";

declare module "vitest" {
  export interface ProvidedContext {
    /** Address of the server that the files of the project `postgres` share. Contains its password. */
    postgresUrl: string;
  }
}

/** Starts one PostgreSQL for all files. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const directory = await mkdtemp(path.join(tmpdir(), "model-gateway-postgres-"));
  const dataDirectory = path.join(directory, "postgres");
  await makePostgresTemplate(dataDirectory);
  const server = await startPostgres({ dataDirectory });
  project.provide("postgresUrl", server.url);
  return async () => {
    await server.stop();
    await rm(directory, { recursive: true, force: true });
  };
}
