import { applyLocalUpstreams, type LocalUpstreams } from "./local-upstreams.ts";
import { readManifest, refuseFile, type ManifestEntry } from "./manifest.ts";
import type { Refusal, ResourceSet, SourcedModel } from "./source.ts";
import { copyForUpstreamNames } from "./upstream-names.ts";

/** A file on disk: its text, or why it could not be read. */
export type FolderFile = { name: string } & (
  | {
      text: string;
      /** Unix seconds. */
      createdSeconds: number;
    }
  | { problem: string }
);

/** The last valid entries of each file. */
export type FolderMemory = ReadonlyMap<string, readonly ManifestEntry[]>;

export interface FolderReading {
  memory: FolderMemory;
  set: ResourceSet;
  refusals: readonly Refusal[];
}

/** A folder's files as one set of resources. `memory` is the result of the previous read. */
export function readFolder(files: readonly FolderFile[], memory: FolderMemory, upstreams: LocalUpstreams): FolderReading {
  const sorted = [...files].sort((first, second) => (first.name < second.name ? -1 : 1));
  const readings = sorted.map((file) => {
    const previous = memory.get(file.name) ?? [];
    const reading = "text" in file ? readManifest(file.name, file.text, previous) : refuseFile(file.name, file.problem, previous);
    return { file, ...reading };
  });

  const taken = new Map<string, ManifestEntry>();
  const conflicts: Refusal[] = [];
  for (const entry of readings.flatMap(({ entries }) => entries)) {
    const owner = taken.get(entry.identity);
    if (owner === undefined) taken.set(entry.identity, entry);
    else conflicts.push(nameConflict(entry, owner));
  }

  const created = new Map(sorted.flatMap((file) => ("text" in file ? [[file.name, file.createdSeconds] as const] : [])));
  return {
    memory: new Map(readings.map(({ file, entries }) => [file.name, entries])),
    set: toSet([...taken.values()], created, upstreams),
    refusals: [...readings.flatMap(({ refusals }) => refusals), ...conflicts],
  };
}

function toSet(entries: readonly ManifestEntry[], created: ReadonlyMap<string, number>, upstreams: LocalUpstreams): ResourceSet {
  const written: SourcedModel[] = [];
  const secrets = new Map<string, ReadonlyMap<string, string>>();
  for (const entry of entries) {
    const { name, namespace, creationTimestamp } = entry.resource.metadata;
    const key = `${namespace}/${name}`;
    switch (entry.kind) {
      case "Secret":
        secrets.set(key, entry.resource.values);
        break;
      case "Model":
        written.push({
          key,
          origin: entry.file,
          createdSeconds: creationTimestamp ? Math.floor(Date.parse(creationTimestamp) / 1000) : (created.get(entry.file) ?? 0),
          resource: entry.resource,
        });
    }
  }
  const models = [...written, ...underUpstreamNames(written, upstreams)].map((model): SourcedModel => {
    const applied = applyLocalUpstreams(model.resource, upstreams);
    for (const [secretKey, values] of applied.secrets) secrets.set(secretKey, values);
    return { ...model, resource: applied.resource };
  });
  return { models, secrets };
}

function underUpstreamNames(models: readonly SourcedModel[], upstreams: LocalUpstreams): SourcedModel[] {
  const byResource = new Map(models.map((model) => [model.resource, model]));
  return copyForUpstreamNames([...byResource.keys()], upstreams).flatMap(({ original, copy }) => {
    const model = byResource.get(original);
    return model === undefined ? [] : [{ ...model, key: `${copy.metadata.namespace}/${copy.metadata.name}`, resource: copy }];
  });
}

function nameConflict(entry: ManifestEntry, owner: ManifestEntry): Refusal {
  const where = owner.file === entry.file ? `line ${owner.line}` : owner.file;
  return {
    origin: entry.file,
    line: entry.line,
    subject: `${entry.kind} ${entry.resource.metadata.name}`,
    problem: `NameConflict: metadata.name is already used in ${where}, which takes precedence; rename this one`,
    isLastGoodKept: false,
  };
}
