import type { TracedRequest } from "../../ledger/traces/waiting-requests.ts";
import type { TracedContent } from "./span.ts";

export interface TracedItem {
  request: TracedRequest;
  content: TracedContent | undefined;
}

/** Before compression. Servers should take 20 MiB. */
const MAX_BYTES = 4 * 1024 * 1024;
/** A span without content rarely takes more: names and labels are bounded. */
const BYTES_OF_SPAN = 8_192;

/** The first requests that fit into one batch with their content: at least one, if there is any. */
export async function fillBatch(
  requests: readonly TracedRequest[],
  readContent: (request: TracedRequest) => Promise<TracedContent | undefined>,
): Promise<TracedItem[]> {
  let bytes = 0;
  const batch: TracedItem[] = [];
  for (const request of requests) {
    const content = await readContent(request);
    bytes += BYTES_OF_SPAN + bytesOf(content);
    if (bytes > MAX_BYTES && batch.length > 0) break;
    batch.push({ request, content });
  }
  return batch;
}

function bytesOf(content: TracedContent | undefined): number {
  return Buffer.byteLength(content?.inputMessages ?? "") + Buffer.byteLength(content?.outputMessages ?? "");
}
