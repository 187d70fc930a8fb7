import { GROUP, VERSION } from "../crd/group.ts";

type Kind = "models" | "apikeys" | "secrets" | "leases" | "events" | "inferencepools" | "services" | "pods";

/** Kinds of ours. */
export type OwnKind = "Model" | "ApiKey";
export const PLURALS = { Model: "models", ApiKey: "apikeys" } as const;

const API: Record<Kind, string> = {
  models: `/apis/${GROUP}/${VERSION}`,
  apikeys: `/apis/${GROUP}/${VERSION}`,
  secrets: "/api/v1",
  leases: "/apis/coordination.k8s.io/v1",
  events: "/apis/events.k8s.io/v1",
  inferencepools: "/apis/inference.networking.k8s.io/v1",
  services: "/api/v1",
  pods: "/api/v1",
};

/** @param namespace null for all. */
export function listPath(kind: Kind, namespace: string | null): string {
  return namespace === null ? `${API[kind]}/${kind}` : `${API[kind]}/namespaces/${encodeURIComponent(namespace)}/${kind}`;
}

export function objectPath(kind: Kind, { namespace, name }: { namespace: string; name: string }): string {
  return `${listPath(kind, namespace)}/${encodeURIComponent(name)}`;
}
