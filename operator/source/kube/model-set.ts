import * as z from "zod";
import type { KubeObject } from "../../kube/object.ts";
import { keyOf } from "../../kube/object.ts";
import { secretsNamedBy } from "../../model/backend.ts";
import { serversOf } from "../../model/guardrail.ts";
import { parseModelResource, type ModelResource, type ParsedModel } from "../../model/resource.ts";
import type { Refusal, ResourceSet, SourcedModel } from "../source.ts";
import type { SecretStore } from "./secret-store.ts";

/** Models in the API server, parsed; the last valid version of those that are invalid. */
export interface ModelReading {
  /** Oldest first. */
  models: readonly SourcedModel[];
  /** By key. */
  refusals: ReadonlyMap<string, Refusal>;
}

const statusSchema = z.object({ names: z.array(z.string()).default([]) }).catch({ names: [] });

/** Parses objects; each generation of one is parsed once, because most changes of an object are in its status. */
export function createModelReader() {
  const read = new Map<string, { uid: string; generation: number; parsed: ParsedModel }>();
  let lastGood: ReadonlyMap<string, SourcedModel> = new Map();

  function parse(key: string, object: KubeObject): ParsedModel {
    const { uid, generation } = object.metadata;
    const known = read.get(key);
    if (known?.uid === uid && known.generation === generation) return known.parsed;
    const parsed = parseModelResource(object);
    read.set(key, { uid, generation, parsed });
    return parsed;
  }

  return function readModels(objects: Iterable<KubeObject>): ModelReading {
    const models: SourcedModel[] = [];
    const refusals = new Map<string, Refusal>();
    const present = new Set<string>();
    for (const object of objects) {
      const key = keyOf(object);
      present.add(key);
      const parsed = parse(key, object);
      const before = lastGood.get(key);
      if (parsed.kind === "good") models.push(sourced(object, parsed.resource));
      else {
        if (before !== undefined) models.push(before);
        const subject = `Model ${object.metadata.name}`;
        const isLastGoodKept = before !== undefined;
        refusals.set(key, { origin: key, line: null, subject, problem: parsed.problems.join("; "), isLastGoodKept });
      }
    }
    models.sort(oldestFirst);
    for (const key of read.keys()) if (!present.has(key)) read.delete(key);
    lastGood = new Map(models.map((model) => [model.key, model]));
    return { models, refusals };
  };
}

/** As one value with the Models' Secrets. */
export function toResourceSet(
  { models }: ModelReading,
  { get, unreadable }: Pick<SecretStore, "get" | "unreadable">,
): ResourceSet {
  const values = [...namedSecrets(models)].flatMap((name) => {
    const found = get(name);
    return found === undefined ? [] : [[name, found] as const];
  });
  return { models, secrets: new Map(values), unreadableSecrets: new Map(unreadable) };
}

/** `namespace/name` of every Secret that they use. */
export function namedSecrets(models: readonly SourcedModel[]): Set<string> {
  return new Set(
    models.flatMap(({ resource: { metadata, spec } }) =>
      serversOf(spec)
        .flatMap(secretsNamedBy)
        .map((name) => `${metadata.namespace}/${name}`),
    ),
  );
}

/** `namespace/name` of every InferencePool that they use. */
export function namedPools(models: readonly SourcedModel[]): Set<string> {
  return new Set(
    models.flatMap(({ resource: { metadata, spec } }) =>
      spec.backends.flatMap(({ pool }) => (pool === undefined ? [] : [`${metadata.namespace}/${pool.name}`])),
    ),
  );
}

function sourced(object: KubeObject, resource: ModelResource): SourcedModel {
  const key = keyOf(object);
  const createdSeconds = Math.floor(Date.parse(object.metadata.creationTimestamp ?? "1970-01-01T00:00:00Z") / 1000);
  return { key, origin: key, createdSeconds, resource, servedNames: statusSchema.parse(object["status"]).names };
}

function oldestFirst(first: SourcedModel, second: SourcedModel): number {
  return first.createdSeconds - second.createdSeconds || (first.key < second.key ? -1 : 1);
}
