import { splitKey } from "./object.ts";
import { startReflector, type Reflector, type ReflectorDeps } from "./reflector.ts";

/** Watched namespaces; null for all. */
export type Namespaces = readonly string[] | null;

/**
 * The objects of one kind in all watched namespaces. `synced` does not wait for a namespace that the API server refuses to list,
 * if it lists another; its objects join as soon as it can be read.
 */
export function startReflectors(namespaces: Namespaces, deps: Omit<ReflectorDeps, "namespace">): Omit<Reflector, "refused"> {
  const each = (namespaces ?? [null]).map((namespace) => ({ namespace, reflector: startReflector({ ...deps, namespace }) }));
  const reflectorOf = (key: string) => {
    const { namespace } = splitKey(key);
    return each.find((one) => one.namespace === null || one.namespace === namespace)?.reflector;
  };
  return {
    synced: syncedOf(each.map(({ reflector }) => reflector)),
    get: (key) => reflectorOf(key)?.get(key),
    *values() {
      for (const { reflector } of each) yield* reflector.values();
    },
    async stop() {
      await Promise.all(each.map(({ reflector }) => reflector.stop()));
    },
  };
}

async function syncedOf(reflectors: readonly Reflector[]): Promise<void> {
  await Promise.all(reflectors.map(({ synced, refused }) => Promise.race([synced, refused])));
  // If nothing at all can be read, the rights are wrong: nothing is published because of that.
  await Promise.race(reflectors.map(({ synced }) => synced));
}
