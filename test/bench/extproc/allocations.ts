import { once } from "node:events";
import * as z from "zod";
import { LOOPBACK } from "../../../local/process/ports.ts";

/** One sample in so many bytes: fewer would slow the program down, more would be inexact. */
const SAMPLING_BYTES = 8 * 1024;

const targets = z.array(z.object({ webSocketDebuggerUrl: z.url() })).min(1);
const sampled = z.object({
  id: z.int(),
  result: z.object({ profile: z.object({ samples: z.array(z.object({ size: z.number() })) }) }),
});

/** What a program allocates meanwhile, with what dies young, by its inspector's sampling profiler. */
export async function allocatedBytes(inspectorPort: number, work: () => Promise<void>): Promise<number> {
  const [target] = targets.parse(await (await fetch(`http://${LOOPBACK}:${inspectorPort}/json/list`)).json());
  const socket = new WebSocket(target?.webSocketDebuggerUrl ?? "");
  await once(socket, "open");
  try {
    await call(socket, 1, "HeapProfiler.startSampling", {
      samplingInterval: SAMPLING_BYTES,
      includeObjectsCollectedByMajorGC: true,
      includeObjectsCollectedByMinorGC: true,
    });
    await work();
    const { result } = sampled.parse(await call(socket, 2, "HeapProfiler.stopSampling", {}));
    return result.profile.samples.reduce((sum, { size }) => sum + size, 0);
  } finally {
    socket.close();
  }
}

async function call(socket: WebSocket, id: number, method: string, params: object): Promise<unknown> {
  const answered = once(socket, "message");
  socket.send(JSON.stringify({ id, method, params }));
  const [message] = z.tuple([z.object({ data: z.string() })]).parse(await answered);
  return JSON.parse(message.data);
}
