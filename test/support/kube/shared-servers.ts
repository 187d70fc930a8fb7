import { isDeepStrictEqual } from "node:util";
import * as z from "zod";
import { eventually } from "../eventually.ts";
import type { Lendable } from "../test-run/pool.ts";
import { createRequests, type KubeRequests } from "./requests.ts";
import { startKubeServers } from "./servers.ts";

/** Generous: the machine may be busy. */
const WITHIN = { withinMs: 60_000, everyMs: 100 };

/** Starts servers for the pool. Whatever a borrower made, changed or deleted is undone in etcd, and the API server hears of it. */
export async function startSharedKubeServers(): Promise<Lendable> {
  const { access, etcd, stop } = await startKubeServers();
  const requests = createRequests(access);
  await eventually(() => requests.send("/api/v1/namespaces/default/services/kubernetes"), WITHIN);
  const restore = await etcd.remember();
  const served = await servedBy(requests);
  return {
    lent: access,
    onComplaint: () => undefined,
    async prepare() {
      await restore();
      await eventually(async () => {
        if (!isDeepStrictEqual(await servedBy(requests), served))
          throw new Error("The API server still serves what was removed.");
      }, WITHIN);
    },
    async stop() {
      requests.close();
      await stop();
    },
  };
}

const groupsSchema = z.object({ groups: z.array(z.object({ name: z.string() })) });
const pathsSchema = z.object({ paths: z.record(z.string(), z.unknown()) });

/** Groups of resources, and those with a published schema: the API server follows its definitions a moment later. */
async function servedBy({ send }: KubeRequests): Promise<{ groups: string[]; schemas: string[] }> {
  const { groups } = groupsSchema.parse(await send("/apis"));
  const { paths } = pathsSchema.parse(await send("/openapi/v3"));
  return { groups: groups.map(({ name }) => name).toSorted(), schemas: Object.keys(paths).toSorted() };
}
