import { connect } from "node:net";
import { text as readText } from "node:stream/consumers";

/** Sends bytes that no HTTP client would, and reads the answer until the server closes. */
export async function sendRaw(baseUrl: string, text: string): Promise<{ status: number; headers: Headers; json: unknown }> {
  const { hostname, port } = new URL(baseUrl);
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const socket = connect(Number(port), hostname, () => socket.write(text));
  let answer = "";
  socket.setEncoding("utf8").setTimeout(5_000, () => socket.destroy(new Error("the server neither answered nor closed")));
  socket.on("data", (chunk) => {
    answer += chunk.toString();
  });
  socket.on("error", reject);
  socket.on("end", () => {
    socket.destroy();
    resolve(answer);
  });
  const [head = "", body = ""] = (await promise).split("\r\n\r\n");
  const [statusLine = "", ...lines] = head.split("\r\n");
  const headers = new Headers(
    lines.map((line): [string, string] => [line.slice(0, line.indexOf(":")), line.slice(line.indexOf(":") + 1).trim()]),
  );
  return { status: Number(statusLine.split(" ")[1]), headers, json: JSON.parse(body) };
}

/**
 * Sends requests without a body in one write, each before the answer to the last. The sender costs next to nothing, so that even
 * on a busy machine they come as fast as the server takes them.
 * @returns the statuses of the answers.
 */
export async function sendPipelined(baseUrl: string, { request, count }: { request: string; count: number }): Promise<number[]> {
  const { hostname, port } = new URL(baseUrl);
  const socket = connect(Number(port), hostname);
  socket.write(`${request}\r\n\r\n`.repeat(count - 1) + `${request}\r\nconnection: close\r\n\r\n`);
  const answers = await readText(socket);
  return [...answers.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map(([, status]) => Number(status));
}
