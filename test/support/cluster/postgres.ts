import type { Image } from "./images/images.ts";

/** One Postgres for all releases, each with a database of its own: no volume, and nothing is synced to a disk. */
export const POSTGRES = { namespace: "postgres", user: "ledger", password: "cluster-test" } as const;

export function postgresObjects(image: Image): object[] {
  const metadata = { name: "postgres", namespace: POSTGRES.namespace };
  const labels = { app: "postgres" };
  const settings = {
    POSTGRES_USER: POSTGRES.user,
    POSTGRES_PASSWORD: POSTGRES.password,
    POSTGRES_DB: "ledger",
    PGDATA: "/data/pgdata",
  };
  const mounts = [
    { name: "data", mountPath: "/data" },
    { name: "run", mountPath: "/var/run/postgresql" },
  ];
  const container = {
    name: "postgres",
    image: image.reference,
    imagePullPolicy: "Never",
    args: ["-c", "max_connections=400", "-c", "fsync=off", "-c", "full_page_writes=off"],
    env: Object.entries(settings).map(([name, value]) => ({ name, value })),
    // Without a request it comes last where processors are short.
    resources: { requests: { cpu: "100m", memory: "128Mi" } },
    readinessProbe: { exec: { command: ["pg_isready", "-h", "127.0.0.1", "-U", POSTGRES.user] }, periodSeconds: 1 },
    volumeMounts: mounts,
  };
  const spec = {
    securityContext: { runAsUser: 999, runAsGroup: 999, fsGroup: 999 },
    terminationGracePeriodSeconds: 5,
    containers: [container],
    volumes: mounts.map(({ name }) => ({ name, emptyDir: {} })),
  };
  return [
    { apiVersion: "v1", kind: "Namespace", metadata: { name: POSTGRES.namespace } },
    { apiVersion: "v1", kind: "Service", metadata, spec: { selector: labels, ports: [{ port: 5432 }] } },
    {
      apiVersion: "apps/v1",
      kind: "StatefulSet",
      metadata,
      spec: { serviceName: "postgres", selector: { matchLabels: labels }, template: { metadata: { labels }, spec } },
    },
  ];
}
