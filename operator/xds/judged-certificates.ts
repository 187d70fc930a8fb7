import type { Any } from "@bufbuild/protobuf/wkt";
import { versionOf } from "./snapshot.ts";

export interface NamedResource {
  name: string;
  resource: Any;
}

/**
 * What one Envoy has said of the certificates that verify servers. A rejection loses the whole response and does not name them, and
 * Envoy accepts the same certificates when they are sent again, without using them: so they are sent alone, once, and the answer
 * is kept (docs/decisions/0094).
 */
export interface JudgedCertificates {
  has(certificates: NamedResource): boolean;
  /** Null: accepted, or not judged. */
  objectionTo(certificates: NamedResource): string | null;
  /** @param message the rejection; null for none. */
  add(certificates: NamedResource, message: string | null): void;
  /** Forgets those of other names, as Envoy does. */
  keep(certificates: readonly NamedResource[]): void;
}

export function createJudgedCertificates(): JudgedCertificates {
  const judged = new Map<string, { version: string; message: string | null }>();
  /** Each is looked up after every answer: hashed each time, a thousand would take a second. */
  const versions = new WeakMap<Any, string>();

  function versionOfOne(resource: Any): string {
    const known = versions.get(resource) ?? versionOf([resource]);
    versions.set(resource, known);
    return known;
  }

  function find({ name, resource }: NamedResource) {
    const found = judged.get(name);
    return found?.version === versionOfOne(resource) ? found : undefined;
  }

  return {
    has: (certificates) => find(certificates) !== undefined,
    objectionTo: (certificates) => find(certificates)?.message ?? null,
    add({ name, resource }, message) {
      judged.set(name, { version: versionOfOne(resource), message });
    },
    keep(certificates) {
      const names = new Set(certificates.map(({ name }) => name));
      for (const name of judged.keys()) if (!names.has(name)) judged.delete(name);
    },
  };
}
