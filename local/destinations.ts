import { readFolderFiles } from "../operator/source/folder-files.ts";
import { readFolder } from "../operator/source/folder-content.ts";
import type { LocalUpstreams } from "../operator/source/local-upstreams.ts";

/** A model server of a Model, and the model's name there. */
export interface ModelServer {
  /** Base URL, as its protocol's SDK expects it. */
  url: string;
  upstreamModel: string;
  kind: "given" | "simulated" | "manifest";
}

/** The destinations of each Model's requests, by each name that clients may use, in the order of the manifests. */
export type Destinations = ReadonlyMap<string, readonly ModelServer[]>;

/** Reads the manifests as the operator does; rejected ones have no destination. */
export async function readDestinations(
  folder: string,
  { upstreams, simulatorUrl }: { upstreams: LocalUpstreams; simulatorUrl: string },
): Promise<Destinations> {
  const { set } = readFolder(await readFolderFiles(folder), new Map(), upstreams);
  const simulator = new URL(simulatorUrl).origin;
  const given = new Set(Object.values(upstreams).map(({ url }) => new URL(url).origin));
  const kindOf = (url: string): ModelServer["kind"] => {
    const { origin } = new URL(url);
    if (origin === simulator) return "simulated";
    return given.has(origin) ? "given" : "manifest";
  };
  return new Map(
    set.models.flatMap(({ resource: { spec } }) => {
      // Without a url it is an InferencePool, which there is in a cluster only.
      const servers = spec.backends.flatMap(({ url, upstreamModel = spec.modelName }) =>
        url === undefined ? [] : [{ url, upstreamModel, kind: kindOf(url) }],
      );
      return [spec.modelName, ...spec.aliases].map((name) => [name, servers] as const);
    }),
  );
}
