import { splitKey } from "./object.ts";
import { startReflector, type Reflector, type ReflectorDeps } from "./reflector.ts";

/** Namespaces that are watched; null for all. */
export type Namespaces = readonly string[] | null;

/** The objects of one kind in all watched namespaces. */
export function startReflectors(namespaces: Namespaces, deps: Omit<ReflectorDeps, "namespace">): Reflector {
  const each = (namespaces ?? [null]).map((namespace) => ({ namespace, reflector: startReflector({ ...deps, namespace }) }));
  const reflectorOf = (key: string) => {
    const { namespace } = splitKey(key);
    return each.find((one) => one.namespace === null || one.namespace === namespace)?.reflector;
  };
  return {
    synced: Promise.all(each.map(({ reflector }) => reflector.synced)).then(() => undefined),
    get: (key) => reflectorOf(key)?.get(key),
    *values() {
      for (const { reflector } of each) yield* reflector.values();
    },
    async stop() {
      await Promise.all(each.map(({ reflector }) => reflector.stop()));
    },
  };
}
