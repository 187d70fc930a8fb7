import * as z from "zod";
import type { KubeClient } from "../kube/client.ts";
import { isKubeError } from "../kube/kube-error.ts";
import { objectPath } from "../kube/paths.ts";
import type { OperatorEvents } from "../events.ts";
import { issueCertificate, type KeyPair } from "./certificate.ts";
import type { InternalCertificate, InternalTlsConfig } from "./config.ts";
import { endMs, whyDue } from "./due.ts";
import { startRounds, type Rounds } from "../../runtime/wait.ts";

export interface RenewerDeps {
  client: Pick<KubeClient, "send">;
  /** The release's own. */
  namespace: string;
  /** Only one replica writes. */
  isLeader(): boolean;
  clock: { nowMs(): number };
  events: Pick<OperatorEvents, "internalCertificateIssued" | "internalCertificateEnd" | "internalCertificatesStuck">;
  everyMs?: number;
}

const EVERY_MS = 60_000;

/** Checks the certificates of the release's parts periodically, and replaces each that is due. */
export function startCertificateRenewer(config: InternalTlsConfig, deps: RenewerDeps): Rounds {
  const { client, namespace, isLeader, clock, events } = deps;
  const { lifetimeMs, renewBeforeMs } = config;
  // One-hour certificates must not expire between two checks.
  const everyMs = Math.min(deps.everyMs ?? EVERY_MS, renewBeforeMs / 4);

  async function round(): Promise<void> {
    if (!isLeader()) return;
    const authorities = await readAuthorities();
    const failures: unknown[] = [];
    for (const certificate of config.certificates)
      await look(certificate, authorities).catch((error: unknown) => failures.push(error));
    if (failures.length > 0) throw failures[0];
  }

  async function look(certificate: InternalCertificate, authorities: Record<"clients" | "servers", KeyPair>): Promise<void> {
    const { use, secret: name, host } = certificate;
    const isClient = use === "client";
    const signer = isClient ? authorities.clients : authorities.servers;
    const trusted = isClient ? authorities.servers : authorities.clients;
    const { resourceVersion, data } = await readSecret(name);
    const current = { ca: data["ca.crt"] ?? "", certificate: data["tls.crt"] ?? "", key: data["tls.key"] ?? "" };
    const nowMs = clock.nowMs();
    const why = whyDue(current, { signer: signer.certificate, trusted: trusted.certificate, host, nowMs, renewBeforeMs });
    if (why === null) return events.internalCertificateEnd({ secret: name, endMs: endMs(current) });

    const issued = await issueCertificate({ authority: signer, use, host, nowMs, lifetimeMs });
    const next = { "ca.crt": trusted.certificate, "tls.crt": issued.certificate, "tls.key": issued.key };
    // Fails if somebody else has written it meanwhile; the next round checks again.
    const content = { metadata: { resourceVersion }, data: mapValues(next, encode) };
    await client.send({ method: "PATCH", path: pathOf(name), body: { type: "merge", content } });
    events.internalCertificateIssued({ secret: name, why });
    events.internalCertificateEnd({ secret: name, endMs: endMs(issued) });
  }

  async function readAuthorities(): Promise<Record<"clients" | "servers", KeyPair>> {
    const { data } = await readSecret(config.authoritySecret);
    const pairOf = (role: string) => ({ certificate: data[`${role}.crt`] ?? "", key: data[`${role}.key`] ?? "" });
    return { clients: pairOf("clients"), servers: pairOf("servers") };
  }

  async function readSecret(name: string): Promise<{ resourceVersion: string; data: Record<string, string> }> {
    try {
      const { metadata, data } = secretSchema.parse(await client.send({ method: "GET", path: pathOf(name) }));
      return { resourceVersion: metadata.resourceVersion, data: mapValues(data, decode) };
    } catch (error) {
      if (isKubeError(error, 404))
        throw new Error(`The Secret ${namespace}/${name} is missing: helm upgrade creates it again.`, { cause: error });
      throw error;
    }
  }

  const pathOf = (name: string) => objectPath("secrets", { namespace, name });
  return startRounds(round, { everyMs, onFailure: (error) => events.internalCertificatesStuck({ error }) });
}

const secretSchema = z.object({
  metadata: z.object({ resourceVersion: z.string() }),
  data: z
    .record(z.string(), z.string())
    .nullish()
    .transform((data) => data ?? {}),
});

function mapValues(values: Readonly<Record<string, string>>, change: (value: string) => string): Record<string, string> {
  return Object.fromEntries(Object.entries(values).map(([name, value]) => [name, change(value)]));
}

const encode = (text: string) => Buffer.from(text).toString("base64");
const decode = (text: string) => Buffer.from(text, "base64").toString("utf8");
