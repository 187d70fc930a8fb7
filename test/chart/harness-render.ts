import path from "node:path";
import { parseAllDocuments, stringify } from "yaml";
import * as z from "zod";
import type { KubeApi } from "../support/kube/api.ts";

export const CHART = path.join(import.meta.dirname, "../../charts/model-gateway");
export const RELEASE = "gw";
export const NAMESPACE = "gateway-system";
/** The release's name for its objects. */
export const NAME = `${RELEASE}-model-gateway`;

/** An object of the Kubernetes API. */
export type KubeObject = z.infer<typeof objectSchema>;

const objectSchema = z.looseObject({
  apiVersion: z.string(),
  kind: z.string(),
  metadata: z.looseObject({
    name: z.string(),
    namespace: z.string().optional(),
    labels: z.record(z.string(), z.string()).optional(),
    annotations: z.record(z.string(), z.string()).optional(),
  }),
});

export type Values = Readonly<Record<string, unknown>>;

/** What every installation must say: which Postgres. */
export const EXTERNAL_DATABASE: Values = { database: { existingSecret: "ledger-app" } };

/** Of this process's test files, which ask for the same again and again. */
const rendered = new Map<string, string>();

/** What `helm template` prints; for the same values and folder the same, with the Secrets that it made the first time. */
export async function renderText({ helm }: Pick<KubeApi, "helm">, values: Values, chart = CHART): Promise<string> {
  const input = stringify(values);
  const key = `${chart}\n${input}`;
  const text =
    rendered.get(key) ?? (await helm(["template", RELEASE, chart, "--namespace", NAMESPACE, "--values", "-"], { input }));
  rendered.set(key, text);
  return text;
}

/** The chart's objects, as `helm template` renders them. */
export async function render(helm: Pick<KubeApi, "helm">, values: Values): Promise<KubeObject[]> {
  return parseObjects(await renderText(helm, values));
}

/** Objects by their text. Most are the same whatever the values, and reading the largest takes as long as rendering all. */
const parsed = new Map<string, KubeObject[]>();

export function parseObjects(yaml: string): KubeObject[] {
  return yaml.split(/^---$/m).flatMap((text) => {
    const objects = parsed.get(text) ?? parseText(text);
    parsed.set(text, objects);
    return structuredClone(objects);
  });
}

function parseText(text: string): KubeObject[] {
  return parseAllDocuments(text)
    .map((document): unknown => document.toJS())
    .filter((content) => content !== null && content !== undefined)
    .map((content) => objectSchema.parse(content));
}

export function title({ kind, metadata }: KubeObject): string {
  return `${kind} ${metadata.name}`;
}

/** @throws Error where there is not exactly one. */
export function only(objects: readonly KubeObject[], kind: string, name: string): KubeObject {
  const found = objects.filter((object) => object.kind === kind && object.metadata.name === name);
  const [first] = found;
  if (first === undefined || found.length > 1) throw new Error(`${found.length} objects are a ${kind} ${name}.`);
  return first;
}
