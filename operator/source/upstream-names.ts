import { modelName, type ModelResource } from "../model/resource.ts";
import type { LocalUpstreams } from "./local-upstreams.ts";

/**
 * People who name a server's model expect to request it by that name. For each local upstream with its own model, this is a copy
 * of the first Model that goes there, under the upstream's name; none if the name is taken, or no Model can have it.
 * @param resources as written in the manifests, before their addresses are replaced.
 */
export function copyForUpstreamNames(
  resources: readonly ModelResource[],
  upstreams: LocalUpstreams,
): { original: ModelResource; copy: ModelResource }[] {
  const taken = new Set(resources.flatMap(({ spec }) => [spec.modelName, ...spec.aliases]));
  const objectNames = new Set(resources.map(({ metadata }) => metadata.name));
  return Object.entries(upstreams).flatMap(([origin, { upstreamModel: name }]) => {
    if (name === undefined || taken.has(name) || !modelName.safeParse(name).success) return [];
    const goesThere = (url: string | undefined) => url !== undefined && new URL(url).origin === origin;
    const original = resources.find(({ spec }) => spec.backends.some(({ url }) => goesThere(url)));
    if (original === undefined) return [];
    taken.add(name);
    const backends = original.spec.backends.filter(({ url }) => goesThere(url));
    const metadata = { ...original.metadata, name: freeObjectName(name, objectNames) };
    return [{ original, copy: { ...original, metadata, spec: { ...original.spec, modelName: name, aliases: [], backends } } }];
  });
}

function freeObjectName(name: string, taken: Set<string>): string {
  const base = `upstream-${name.toLowerCase().replaceAll(/[^a-z0-9.-]/g, "-")}`.replace(/[^a-z0-9]+$/, "");
  let candidate = base;
  for (let number = 2; taken.has(candidate); number++) candidate = `${base}-${number}`;
  taken.add(candidate);
  return candidate;
}
