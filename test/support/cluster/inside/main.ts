import { readFile } from "node:fs/promises";
import { Agent, get } from "node:https";
import path from "node:path";
import process from "node:process";
import { NODE_ADDRESS } from "../addresses.ts";
import { serveNames } from "./names.ts";
import { serveRelay } from "./relay.ts";

// What a cluster has around its node: names, and a way in.
const [, , credentials = "", socket = ""] = process.argv;
const ca = await readFile(path.join(credentials, "ca.crt"));
const token = await readFile(path.join(credentials, "admin.token"), "utf8");
const agent = new Agent({ keepAlive: true });

async function read(resource: string): Promise<unknown> {
  const { promise, resolve, reject } = Promise.withResolvers<unknown>();
  const options = { host: NODE_ADDRESS, port: 6443, path: resource, ca, agent, headers: { authorization: `Bearer ${token}` } };
  const request = get({ ...options, timeout: 5_000 }, (response) => {
    let text = "";
    response.setEncoding("utf8").on("data", (chunk: string) => (text += chunk));
    response.on("error", reject).on("end", () => {
      if (response.statusCode === 200) resolve(JSON.parse(text));
      else reject(new Error(`${resource}: ${response.statusCode} ${text}`));
    });
  });
  request.on("timeout", () => request.destroy(new Error("no answer"))).on("error", reject);
  return await promise;
}

await serveNames(NODE_ADDRESS, read);
await serveRelay(socket);
