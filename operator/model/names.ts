import type { SourcedModel } from "../source/source.ts";

/**
 * Which Models lose a name: one name, alias or not, belongs to the oldest Model that claims it. By the loser's key, why.
 * @param models oldest first.
 */
export function findNameConflicts(models: readonly SourcedModel[]): ReadonlyMap<string, string> {
  const owners = new Map<string, SourcedModel>();
  const conflicts = new Map<string, string>();
  for (const model of models) {
    const { modelName, aliases } = model.resource.spec;
    const names = [modelName, ...aliases];
    const taken = names.find((name) => owners.has(name));
    const owner = taken === undefined ? undefined : owners.get(taken);
    if (owner === undefined) {
      for (const name of names) owners.set(name, model);
      continue;
    }
    const field = taken === modelName ? "spec.modelName" : "spec.aliases";
    conflicts.set(
      model.key,
      `${field}: the name ${taken} is already taken by Model ${owner.resource.metadata.name} (${owner.origin}), which comes first; choose another`,
    );
  }
  return conflicts;
}
