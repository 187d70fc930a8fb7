import * as z from "zod";
import type { KubeClient } from "./client.ts";
import type { KubeEvents } from "./events.ts";
import { isKubeError, toKubeError } from "./kube-error.ts";
import { keyOf, kubeObjectSchema, type KubeObject } from "./object.ts";
import { listPath } from "./paths.ts";
import { backOffMs, pause } from "../../runtime/wait.ts";

export interface ReflectorDeps {
  client: Pick<KubeClient, "send" | "watch">;
  kind: "models" | "apikeys" | "pods";
  /** null for all. */
  namespace: string | null;
  /** Only objects with these labels; all if absent. */
  labels?: Readonly<Record<string, string>>;
  /** Only objects in other namespaces than these. */
  notIn?: readonly string[];
  /** What is kept of an object; all of it if absent. */
  trim?(object: KubeObject): KubeObject;
  /** The object of this key was added, changed or deleted. Must not throw. */
  onChange(key: string): void;
  events: Pick<KubeEvents, "relisted" | "watchEnded" | "eventSeen">;
  random?: () => number;
  backOff?: { firstMs: number; maxMs: number };
  refusedForMs?: number;
}

/** A copy in memory of the objects of one kind, kept current by a watch. */
export interface Reflector {
  /** Resolves when everything was listed once; never, if that never succeeds. */
  readonly synced: Promise<void>;
  /** Resolves when the API server has refused (403) to list for a while. Listing is retried all the same. */
  readonly refused: Promise<void>;
  get(key: string): KubeObject | undefined;
  values(): Iterable<KubeObject>;
  stop(): Promise<void>;
}

/** An object may have more than a megabyte. */
const PAGE = 50;
const BACK_OFF = { firstMs: 500, maxMs: 30_000 } as const;
/** The server sends a bookmark each minute: longer silence is a dead connection. */
const SILENCE_MS = 90_000;
const WATCH_SECONDS = 300;
/** A watch that lasted this long was no failure. */
const HELD_MS = 5_000;
/** An API server that has just started refuses for a moment, until it has read its own roles. */
const REFUSED_FOR_MS = 10_000;

const listSchema = z.looseObject({
  metadata: z.looseObject({ resourceVersion: z.string(), continue: z.string().optional() }),
  items: z.array(kubeObjectSchema),
});

const eventSchema = z.discriminatedUnion("type", [
  z.object({ type: z.enum(["ADDED", "MODIFIED", "DELETED"]), object: kubeObjectSchema }),
  z.object({ type: z.literal("BOOKMARK"), object: z.object({ metadata: z.object({ resourceVersion: z.string() }) }) }),
  z.object({ type: z.literal("ERROR"), object: z.looseObject({ code: z.int().default(0) }) }),
]);

/** Lists, then watches from there; lists again only if the server no longer knows the position (410). Never gives up. */
export function startReflector(deps: ReflectorDeps): Reflector {
  const {
    client,
    kind,
    namespace,
    onChange,
    events,
    trim = (object) => object,
    random = Math.random,
    backOff = BACK_OFF,
    refusedForMs = REFUSED_FOR_MS,
  } = deps;
  const path = listPath(kind, namespace);
  const selection = selectionOf(deps);
  const stopping = new AbortController();
  const synced = Promise.withResolvers<void>();
  const refused = Promise.withResolvers<void>();
  let store = new Map<string, KubeObject>();
  let resourceVersion: string | null = null;

  async function relist(): Promise<void> {
    const listed = new Map<string, KubeObject>();
    let token: string | undefined;
    let version: string;
    do {
      const query: Record<string, string> = {
        ...selection,
        limit: String(PAGE),
        ...(token === undefined ? {} : { continue: token }),
      };
      const page = listSchema.parse(await client.send({ method: "GET", path, query }));
      for (const object of page.items) listed.set(keyOf(object), trim(object));
      token = page.metadata.continue === "" ? undefined : page.metadata.continue;
      version = page.metadata.resourceVersion;
    } while (token !== undefined);
    const before = store;
    store = listed;
    resourceVersion = version;
    events.relisted({ kind, objects: listed.size });
    for (const key of new Set([...before.keys(), ...listed.keys()]))
      if (before.get(key)?.metadata.resourceVersion !== listed.get(key)?.metadata.resourceVersion) onChange(key);
    synced.resolve();
  }

  /** @returns when the server ended it, as it does from time to time. @throws Error if it never lasted. */
  async function watch(from: string): Promise<void> {
    const startedAt = performance.now();
    const timeoutSeconds = String(Math.round(WATCH_SECONDS * (1 + random())));
    const query = { ...selection, resourceVersion: from, allowWatchBookmarks: "true", timeoutSeconds };
    for await (const line of client.watch({ path, query, signal: stopping.signal, silenceMs: SILENCE_MS })) {
      const event = eventSchema.parse(line);
      events.eventSeen({ kind });
      switch (event.type) {
        case "BOOKMARK":
          resourceVersion = event.object.metadata.resourceVersion;
          break;
        case "ERROR":
          throw toKubeError(event.object.code, event.object);
        case "ADDED":
        case "MODIFIED":
        case "DELETED": {
          const key = keyOf(event.object);
          resourceVersion = event.object.metadata.resourceVersion;
          if (event.type === "DELETED") store.delete(key);
          else store.set(key, trim(event.object));
          onChange(key);
        }
      }
    }
    // A proxy may end each one at once: without a pause, that would be thousands of requests a second.
    if (performance.now() - startedAt < HELD_MS) throw new Error("A watch was ended right after its start.");
  }

  async function run(): Promise<void> {
    let failures = 0;
    let refusedSinceMs: number | null = null;
    while (!stopping.signal.aborted) {
      const startedAt = performance.now();
      try {
        if (resourceVersion === null) await relist();
        if (resourceVersion !== null) await watch(resourceVersion);
        failures = 0;
      } catch (error) {
        if (stopping.signal.aborted) return;
        // 410 Gone: the position to resume from is no longer kept.
        if (isKubeError(error, 410)) resourceVersion = null;
        failures = performance.now() - startedAt > HELD_MS ? 1 : failures + 1;
        if (!isKubeError(error, 403)) refusedSinceMs = null;
        else if (performance.now() - (refusedSinceMs ??= performance.now()) >= refusedForMs) refused.resolve();
        events.watchEnded({ kind, error, failures });
        await pause(backOffMs(backOff, failures, random()), stopping.signal);
      }
    }
  }

  const ended = run();
  return {
    synced: synced.promise,
    refused: refused.promise,
    get: (key) => store.get(key),
    values: () => store.values(),
    async stop() {
      stopping.abort();
      await ended;
    },
  };
}

function selectionOf({ labels = {}, notIn = [] }: Pick<ReflectorDeps, "labels" | "notIn">): Readonly<Record<string, string>> {
  const pairs = Object.entries(labels).map(([name, value]) => `${name}=${value}`);
  const fields = notIn.map((namespace) => `metadata.namespace!=${namespace}`);
  return {
    ...(pairs.length === 0 ? {} : { labelSelector: pairs.join(",") }),
    ...(fields.length === 0 ? {} : { fieldSelector: fields.join(",") }),
  };
}
