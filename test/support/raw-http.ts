import { connect } from "node:net";

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
