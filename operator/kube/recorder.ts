import { randomBytes } from "node:crypto";
import type { KubeClient } from "./client.ts";
import type { KubeEvents } from "./events.ts";
import { toMicroTime } from "./lease.ts";
import type { KubeObject } from "./object.ts";
import { listPath } from "./paths.ts";

/** An Event of an object, as `kubectl describe` shows it. It never contains a secret. */
interface Occurrence {
  kind: "Model" | "ApiKey";
  metadata: KubeObject["metadata"];
  type: "Normal" | "Warning";
  /** In one word. */
  reason: string;
  note: string;
}

/** Writes Kubernetes Events. One that cannot be written is lost; nothing waits for it. */
export interface Recorder {
  record(occurrence: Occurrence): void;
  stop(): Promise<void>;
}

export interface RecorderDeps {
  client: Pick<KubeClient, "send">;
  apiVersion: string;
  /** Name of the replica. */
  instance: string;
  clock: { nowMs(): number };
  events: Pick<KubeEvents, "eventLost">;
}

/** The same Event is written once in this time. */
const QUIET_MS = 600_000;
const MAX_REMEMBERED = 10_000;
/** More than this at one time is a storm, which the API server is spared. */
const MAX_WAITING = 200;
/** Bytes, not characters. */
const LONGEST_NOTE = 1_024;

export function createRecorder({ client, apiVersion, instance, clock, events }: RecorderDeps): Recorder {
  const recordedAtMs = new Map<string, number>();
  let waiting = 0;
  let last = Promise.resolve();

  async function write({ kind, metadata, type, reason, note }: Occurrence): Promise<void> {
    const { name, namespace, uid } = metadata;
    const content = {
      apiVersion: "events.k8s.io/v1",
      kind: "Event",
      metadata: { name: `${eventPrefix(name)}.${randomBytes(8).toString("hex")}`, namespace },
      eventTime: toMicroTime(clock.nowMs()),
      reportingController: "modelgateway.dev/operator",
      reportingInstance: instance.slice(0, 128),
      action: "Reconcile",
      regarding: { apiVersion, kind, name, namespace, uid },
      type,
      reason,
      note: firstBytes(note, LONGEST_NOTE),
    };
    try {
      await client.send({ method: "POST", path: listPath("events", namespace), body: { type: "json", content } });
    } catch (error) {
      events.eventLost({ error });
    }
  }

  return {
    record(occurrence) {
      const { metadata, reason, note } = occurrence;
      const same = `${metadata.uid} ${reason} ${note}`;
      const nowMs = clock.nowMs();
      if (nowMs - (recordedAtMs.get(same) ?? -Infinity) < QUIET_MS || waiting >= MAX_WAITING) return;
      if (recordedAtMs.size >= MAX_REMEMBERED) recordedAtMs.clear();
      recordedAtMs.set(same, nowMs);
      waiting += 1;
      last = last.then(() => write(occurrence)).finally(() => void (waiting -= 1));
    },
    stop: () => last,
  };
}

/** The text without what exceeds so many bytes. */
function firstBytes(text: string, limit: number): string {
  // As a stream: a character that is cut is not replaced by another, which might be too long.
  return new TextDecoder().decode(Buffer.from(text).subarray(0, limit), { stream: true });
}

/** Truncating a name must not leave two consecutive dots, which the API server rejects. */
function eventPrefix(name: string): string {
  return name.slice(0, 200).replace(/[-.]+$/, "");
}
