import path from "node:path";
import * as z from "zod";
import { startChild, type Child } from "../../../local/process/child.ts";
import { freePorts, LOOPBACK } from "../../../local/process/ports.ts";
import { eventually } from "../eventually.ts";
import { SELDOM_COLLECTED, SERVER_STOP_STEPS, withLog } from "./server.ts";

export interface Etcd {
  readonly url: string;
  readonly process: Child;
  /** Drops every revision but the last, so that no watch or list can continue from an earlier one. */
  compact(): Promise<void>;
  /** @returns what brings everything back that is there now, and removes all else. */
  remember(): Promise<() => Promise<void>>;
}

const rangeSchema = z.object({ header: z.object({ revision: z.string() }) });
/** Keys and values are in base64. */
const entriesSchema = z.object({
  kvs: z.array(z.object({ key: z.string(), mod_revision: z.string(), value: z.string().optional() })).default([]),
});
/** In etcd's words for all that there is. */
const EVERYTHING = { key: btoa("\0"), range_end: btoa("\0") };
/** What the API server renews all the time. */
const RENEWED = /^\/registry\/(leases|masterleases|events)\//;

/** An etcd on loopback whose data is thrown away, and so is never synced to the disk. */
export async function startEtcd(program: string, directory: string): Promise<Etcd> {
  const [clientPort = 0, peerPort = 0] = await freePorts(2);
  const url = `http://${LOOPBACK}:${clientPort}`;
  const peerUrl = `http://${LOOPBACK}:${peerPort}`;
  const process = await startChild({
    name: "etcd",
    program,
    parameters: [
      `--data-dir=${path.join(directory, "etcd")}`,
      `--listen-client-urls=${url}`,
      `--advertise-client-urls=${url}`,
      `--listen-peer-urls=${peerUrl}`,
      `--initial-advertise-peer-urls=${peerUrl}`,
      `--initial-cluster=default=${peerUrl}`,
      "--unsafe-no-fsync",
      "--log-level=warn",
    ],
    environment: SELDOM_COLLECTED,
    logs: directory,
    hasChannel: false,
    stopSteps: SERVER_STOP_STEPS,
    onComplaint: () => {},
  });

  async function call(method: string, body: object): Promise<unknown> {
    const response = await fetch(`${url}/v3/kv/${method}`, { method: "POST", body: JSON.stringify(body) });
    if (!response.ok) throw new Error(`etcd answers ${response.status}: ${await response.text()}`);
    return await response.json();
  }

  await withLog(process, async () => {
    await eventually(() => call("range", { key: btoa("/") }), { withinMs: 60_000 });
  });
  return {
    url,
    process,
    async compact() {
      const { header } = rangeSchema.parse(await call("range", { key: btoa("/") }));
      await call("compaction", { revision: header.revision, physical: true });
    },
    async remember() {
      const remembered = new Map((await entries({})).map((entry) => [entry.key, entry]));
      return async () => {
        const now = new Map((await entries({ keys_only: true })).map((entry) => [entry.key, entry.mod_revision]));
        for (const key of now.keys()) if (!remembered.has(key) && !RENEWED.test(atob(key))) await call("deleterange", { key });
        for (const [key, { value = "", mod_revision: revision }] of remembered) {
          if (now.get(key) === revision || RENEWED.test(atob(key))) continue;
          await call("put", { key, value });
        }
      };
    },
  };

  async function entries(options: object) {
    return entriesSchema.parse(await call("range", { ...EVERYTHING, ...options })).kvs;
  }
}
