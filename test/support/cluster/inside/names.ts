import { createSocket } from "node:dgram";
import { once } from "node:events";
import { decode, encode, RECURSION_DESIRED, AUTHORITATIVE_ANSWER, type Answer } from "dns-packet";
import * as z from "zod";
import { DNS_DOMAIN } from "../addresses.ts";

const REFRESH_MS = 250;
const TTL_SECONDS = 1;
const NO_SUCH_NAME = 3;

const servicesSchema = z.object({
  items: z.array(
    z.object({
      metadata: z.object({ name: z.string(), namespace: z.string() }),
      spec: z.object({ clusterIP: z.string().optional(), publishNotReadyAddresses: z.boolean().default(false) }),
    }),
  ),
});
const slicesSchema = z.object({
  items: z.array(
    z.object({
      metadata: z.object({ namespace: z.string(), labels: z.record(z.string(), z.string()).default({}) }),
      endpoints: z
        .array(
          z.object({
            addresses: z.array(z.string()),
            hostname: z.string().optional(),
            conditions: z.object({ ready: z.boolean().default(true) }).default({ ready: true }),
          }),
        )
        .nullish(),
    }),
  ),
});

/** Addresses by name. */
type Names = ReadonlyMap<string, readonly string[]>;
/** Reads a path of the Kubernetes API. */
export type ReadApi = (path: string) => Promise<unknown>;

/** A cluster's name server, for Services: the little that the product asks for, since none is in a package registry. */
export async function serveNames(address: string, read: ReadApi): Promise<void> {
  let names = await readNames(read);
  const refresh = () => {
    void readNames(read)
      .then((found) => (names = found))
      // The API server is unreachable: the last known state is used.
      .catch(() => {})
      .finally(() => setTimeout(refresh, REFRESH_MS));
  };
  refresh();

  const socket = createSocket("udp4");
  socket.on("message", (message, { port, address: asker }) => {
    const { id, flags = 0, questions = [] } = decode(message);
    const [question] = questions;
    const addresses = question === undefined ? undefined : names.get(question.name.toLowerCase());
    const answers =
      question?.type === "A"
        ? (addresses ?? []).map((data): Answer => ({ type: "A", name: question.name, ttl: TTL_SECONDS, data }))
        : [];
    const reply = AUTHORITATIVE_ANSWER | (flags & RECURSION_DESIRED) | (addresses === undefined ? NO_SUCH_NAME : 0);
    socket.send(encode({ type: "response", id: id ?? 0, flags: reply, questions, answers }), port, asker);
  });
  socket.bind(53, address);
  await once(socket, "listening");
}

async function readNames(read: ReadApi): Promise<Names> {
  const services = servicesSchema.parse(await read("/api/v1/services")).items;
  const slices = slicesSchema.parse(await read("/apis/discovery.k8s.io/v1/endpointslices")).items;
  const names = new Map<string, readonly string[]>();
  for (const { metadata, spec } of services) {
    const name = `${metadata.name}.${metadata.namespace}.svc.${DNS_DOMAIN}`;
    if (spec.clusterIP !== undefined && spec.clusterIP !== "None") {
      names.set(name, [spec.clusterIP]);
      continue;
    }
    const endpoints = slices
      .filter((each) => each.metadata.namespace === metadata.namespace)
      .filter((each) => each.metadata.labels["kubernetes.io/service-name"] === metadata.name)
      .flatMap((each) => each.endpoints ?? [])
      .filter(({ conditions }) => conditions.ready || spec.publishNotReadyAddresses);
    names.set(
      name,
      endpoints.flatMap(({ addresses }) => addresses),
    );
    for (const { hostname, addresses } of endpoints) if (hostname !== undefined) names.set(`${hostname}.${name}`, addresses);
  }
  return names;
}
