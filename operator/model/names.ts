import type { SourcedModel } from "../source/source.ts";

export interface NameConflicts {
  /** By key of Models that lost their name to another one, why. */
  models: ReadonlyMap<string, string>;
  /** By key of Models that lost aliases, by alias, why. */
  aliases: ReadonlyMap<string, ReadonlyMap<string, string>>;
}

/**
 * Which Models and aliases lose a name. A name belongs to the Model that already serves it, otherwise to the oldest one that
 * claims it: an alias added to an old Model must not take clients away from a newer one.
 * @param models oldest first.
 * @param servedNames by key, the names that each Model serves now.
 */
export function findNameConflicts(
  models: readonly SourcedModel[],
  servedNames: ReadonlyMap<string, readonly string[]>,
): NameConflicts {
  const owners = new Map<string, SourcedModel>();
  const claim = (name: string, model: SourcedModel) => {
    if (!owners.has(name)) owners.set(name, model);
  };
  for (const model of models) {
    const served = new Set(servedNames.get(model.key));
    for (const name of namesOf(model)) if (served.has(name)) claim(name, model);
  }
  const conflicts = { models: new Map<string, string>(), aliases: new Map<string, ReadonlyMap<string, string>>() };
  for (const model of models) {
    const { modelName, aliases } = model.resource.spec;
    claim(modelName, model);
    const owner = owners.get(modelName);
    if (owner !== undefined && owner !== model) {
      conflicts.models.set(model.key, sentence("spec.modelName", modelName, owner));
      for (const alias of aliases) if (owners.get(alias) === model) owners.delete(alias);
      continue;
    }
    const lost = new Map<string, string>();
    for (const alias of aliases) {
      claim(alias, model);
      const aliasOwner = owners.get(alias);
      if (aliasOwner !== undefined && aliasOwner !== model) lost.set(alias, sentence("spec.aliases", alias, aliasOwner));
    }
    if (lost.size > 0) conflicts.aliases.set(model.key, lost);
  }
  return conflicts;
}

function namesOf({ resource: { spec } }: SourcedModel): string[] {
  return [spec.modelName, ...spec.aliases];
}

function sentence(field: string, name: string, { resource, origin }: SourcedModel): string {
  return `${field}: the name ${name} is already taken by Model ${resource.metadata.name} (${origin}); choose another`;
}
