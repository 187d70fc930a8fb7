import { createServer, type ServerResponse } from "node:http";
import { setImmediate } from "node:timers/promises";

interface Replay {
  bytes: Buffer;
  contentType: string;
  /** In writes of this many bytes; all at once where absent. */
  pieceBytes?: number;
}

export interface ReplayUpstream {
  /** The base URL of the answer `name`. */
  url(name: string): string;
  /** Sets the answer to every request below `url(name)`, with status 200. */
  replay(name: string, answer: Replay): void;
  stop(): Promise<void>;
}

const NO_ANSWER: Replay = { bytes: Buffer.from("{}"), contentType: "application/json" };

/** A model server that answers with given bytes, whatever it is asked. */
export async function startReplayUpstream(): Promise<ReplayUpstream> {
  const answers = new Map<string, Replay>();
  const server = createServer((request, response) => {
    request.resume();
    const [, name = ""] = (request.url ?? "").split("/");
    request.on("end", () => void deliver(response, answers.get(name) ?? NO_ANSWER));
  });
  const { promise: listening, resolve } = Promise.withResolvers<void>();
  server.listen(0, "127.0.0.1", resolve);
  await listening;
  const address = server.address();
  if (typeof address !== "object" || address === null) throw new Error("the upstream has no port");
  return {
    url: (name) => `http://127.0.0.1:${address.port}/${name}`,
    replay: (name, answer) => void answers.set(name, answer),
    async stop() {
      const { promise: closed, resolve: onClosed } = Promise.withResolvers<void>();
      server.close(() => onClosed());
      server.closeAllConnections();
      await closed;
    },
  };
}

/** Each piece is a chunk of its own on the wire: the next is written in a later turn of the event loop. */
async function deliver(response: ServerResponse, { bytes, contentType, pieceBytes = bytes.length }: Replay): Promise<void> {
  response.writeHead(200, { "content-type": contentType });
  for (let at = 0; at < bytes.length && !response.destroyed; at += pieceBytes) {
    response.write(bytes.subarray(at, at + pieceBytes));
    await setImmediate();
  }
  response.end();
}
