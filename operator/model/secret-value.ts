import type { ResourceSet, UnreadableSecret } from "../source/source.ts";

/** A value of a Secret, or why there is none. */
export type FoundSecret = { kind: "found"; name: string; value: string } | UnreadSecret | MissingSecret;

/** It was never read, and cannot be now: whether it exists, and what it contains, is unknown. */
export interface UnreadSecret {
  kind: "unread";
  name: string;
  reason: UnreadableSecret["reason"];
  message: string;
}

export interface MissingSecret {
  kind: "missing";
  reason: "SecretNotFound" | "KeyMissing";
  message: string;
}

/** Finds a value in the Model's namespace. */
export type FindValue = (reference: { name: string; key: string }) => FoundSecret;

export function findSecret(
  { secrets, unreadableSecrets }: Pick<ResourceSet, "secrets"> & { unreadableSecrets: ResourceSet["unreadableSecrets"] },
  namespace: string,
  reference: { name: string; key: string },
): FoundSecret {
  const name = `${namespace}/${reference.name}`;
  const values = secrets.get(name);
  const refusal = unreadableSecrets?.get(name);
  if (values === undefined && refusal !== undefined)
    return { kind: "unread", name, reason: refusal.reason, message: describeUnreadable(name, refusal) };
  if (values === undefined) return { kind: "missing", reason: "SecretNotFound", message: `there is no Secret ${name}` };
  const value = values.get(reference.key);
  if (value === undefined)
    return { kind: "missing", reason: "KeyMissing", message: `Secret ${name} has no key ${reference.key}` };
  return { kind: "found", name, value };
}

export function describeUnreadable(name: string, { message }: UnreadableSecret): string {
  return `Secret ${name} cannot be read: ${message}`;
}
