import { readdir, readFile } from "node:fs/promises";
import path from "node:path";
import { parse, stringify } from "yaml";
import { addressesFile } from "./addresses.ts";
import { bootstrapTemplate, clientTlsFile, internalTlsFiles } from "./bootstrap.ts";
import { customResourceTemplate } from "./custom-resources.ts";
import { valuesTable, withTable } from "./values-table.ts";

export const ROOT = path.join(import.meta.dirname, "../..");
const CHART = "charts/model-gateway";
/** Pages with the table of values: the guide, and the README of a packaged chart. */
const PAGES = ["docs/kubernetes.md", `${CHART}/README.md`];

export interface Output {
  /** Relative to the repository's root. */
  file: string;
  text: string;
}

/** Every generated file of the chart and its guide, with its expected content. */
export async function chartOutputs(): Promise<Output[]> {
  return [
    { file: `${CHART}/files/envoy.yaml`, text: bootstrapTemplate() },
    { file: `${CHART}/files/addresses.yaml`, text: addressesFile() },
    { file: `${CHART}/files/internal-certificate.yaml`, text: internalTlsFiles().certificate },
    { file: `${CHART}/files/internal-authority.yaml`, text: internalTlsFiles().authority },
    { file: `${CHART}/files/client-tls.yaml`, text: clientTlsFile() },
    ...(await customResources()),
    await defaults(),
    ...(await pages()),
  ];
}

async function customResources(): Promise<Output[]> {
  const names = (await readdir(path.join(ROOT, "crds"))).filter((name) => name.endsWith(".yaml")).sort();
  return Promise.all(
    names.map(async (name) => ({
      file: `${CHART}/templates/crds/${name}`,
      text: customResourceTemplate(await read(`crds/${name}`)),
    })),
  );
}

/** Helm gives templates every file but values.yaml. */
async function defaults(): Promise<Output> {
  return { file: `${CHART}/files/defaults.yaml`, text: stringify(parse(await read(`${CHART}/values.yaml`)), { lineWidth: 0 }) };
}

async function pages(): Promise<Output[]> {
  const schema: unknown = JSON.parse(await read(`${CHART}/values.schema.json`));
  const table = valuesTable(schema, parse(await read(`${CHART}/values.yaml`)));
  return Promise.all(
    PAGES.map(async (file) => ({
      file,
      text: withTable(await read(file), table),
    })),
  );
}

function read(file: string): Promise<string> {
  return readFile(path.join(ROOT, file), "utf8");
}
