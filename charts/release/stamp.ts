import { parse, parseDocument, stringify } from "yaml";
import * as z from "zod";
import { valuesTable, withTable } from "../generate/values-table.ts";

/** Files of a chart that refer to its image and its source, by their path in the chart. */
export interface StampedFiles {
  "Chart.yaml": string;
  "values.yaml": string;
  "README.md": string;
  "files/defaults.yaml": string;
}

export interface Release {
  /** Registry of the image, such as `registry.example/team`. */
  registry: string | undefined;
  /** Digest of the image; if absent, the tag is used. */
  digest: string | undefined;
  /** Address of the repository that it is built from. */
  source: string | undefined;
}

const IMAGES = "artifacthub.io/images";
const imagesSchema = z.array(z.object({ name: z.string(), image: z.string() }));
const chartSchema = z.object({ appVersion: z.string(), annotations: z.object({ [IMAGES]: z.string() }) });

/** The files as a release publishes them: an installation with the chart's defaults then uses the release's image. */
export function stamp(
  files: Omit<StampedFiles, "files/defaults.yaml">,
  schema: unknown,
  { registry, digest, source }: Release,
): StampedFiles {
  const values = parseDocument(files["values.yaml"]);
  const [host = "", ...path] = registry?.split("/") ?? [];
  const repository = [...path, "model-gateway"].join("/");
  if (registry !== undefined) {
    values.setIn(["image", "registry"], host);
    values.setIn(["image", "repository"], repository);
  }
  if (digest !== undefined) values.setIn(["image", "digest"], digest);

  const chart = parseDocument(files["Chart.yaml"]);
  if (source !== undefined) {
    chart.setIn(["home"], source);
    chart.setIn(["sources"], [source]);
  }
  const { appVersion, annotations } = chartSchema.parse(chart.toJS());
  const name = registry === undefined ? repository : `${host}/${repository}`;
  const image = digest === undefined ? `${name}:${appVersion}` : `${name}@${digest}`;
  const images = imagesSchema
    .parse(parse(annotations[IMAGES]))
    .map((each) => (each.name === "model-gateway" ? { ...each, image } : each));
  chart.setIn(["annotations", IMAGES], stringify(images, { lineWidth: 0 }));

  const plain: unknown = values.toJS();
  return {
    "Chart.yaml": chart.toString({ lineWidth: 0 }),
    "values.yaml": values.toString({ lineWidth: 0 }),
    "README.md": withTable(files["README.md"], valuesTable(schema, plain)),
    "files/defaults.yaml": stringify(plain, { lineWidth: 0 }),
  };
}
