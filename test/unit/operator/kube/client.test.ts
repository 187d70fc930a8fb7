import { createServer, type Server } from "node:https";
import type { ServerResponse } from "node:http";
import { inspect } from "node:util";
import { afterEach, beforeAll, expect, test } from "vitest";
import { createKubeClient, type KubeClient, type KubeClientDeps } from "../../../../operator/kube/client.ts";
import { makeCertificates, type TlsCertificates } from "../../../support/servers/tls-certificates.ts";

/** The client against a server of the test's own: what a real API server does not do on demand. */
let tls: TlsCertificates;
let server: Server;
let client: KubeClient;
let answers: string[];
let sockets: number;

beforeAll(async () => {
  tls = await makeCertificates("localhost", "127.0.0.1");
});

afterEach(async () => {
  client.close();
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
});

async function serve(
  answer: (response: ServerResponse, url: string) => void,
  options: Pick<KubeClientDeps, "requestTimeoutMs"> = {},
): Promise<void> {
  [answers, sockets] = [[], 0];
  server = createServer({ key: tls.key, cert: tls.certificate }, (request, response) => {
    request.resume();
    answer(response, request.url ?? "");
  });
  server.on("secureConnection", () => void (sockets += 1));
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  const port = typeof address === "object" && address !== null ? address.port : 0;
  client = createKubeClient({
    access: {
      server: new URL(`https://127.0.0.1:${port}`),
      authenticate: async () => ({ ca: tls.ca, headers: { authorization: "Bearer token" } }),
    },
    events: { kubeAnswered: ({ method, code }) => void answers.push(`${method} ${code}`) },
    ...options,
  });
}

const json = { "content-type": "application/json" };
const get = () => client.send({ method: "GET", path: "/x" });

async function watch(silenceMs = 5_000): Promise<unknown[]> {
  const seen: unknown[] = [];
  const lines = client.watch({ path: "/x", query: {}, signal: new AbortController().signal, silenceMs });
  try {
    for await (const line of lines) seen.push(line);
  } catch (error) {
    seen.push(String(error));
  }
  return seen;
}

test("requests one after another share a connection", async () => {
  await serve((response) => void response.writeHead(200, json).end("{}"));
  for (let count = 0; count < 20; count++) await get();
  expect(sockets).toBe(1);
  expect(answers).toEqual(Array.from({ length: 20 }, () => "GET 200"));
});

test("an unsuccessful answer is an error with the server's message", async () => {
  await serve((response) => void response.writeHead(409, json).end('{"reason":"AlreadyExists","message":"it is there"}'));
  await expect(get()).rejects.toThrow("The Kubernetes API answered 409 AlreadyExists: it is there");
});

test("an answer that is not JSON is an error that does not quote it", async () => {
  await serve((response) => void response.writeHead(200, json).end('{"data":{"api-key":c2VjcmV0}}'));
  const error = await get().catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(Error);
  expect(inspect(error)).toContain("The Kubernetes API's answer is not JSON.");
  expect(inspect(error)).not.toContain("c2V");
});

test("a server that does not answer is waited for no longer than the time limit, and counted", async () => {
  await serve(() => undefined, { requestTimeoutMs: 500 });
  await expect(get()).rejects.toThrow("The Kubernetes API cannot be used at the moment: no answer within 500 ms");
  expect(answers).toEqual(["GET <error>"]);
});

test("after a 429 with retry-after everything waits, except what is urgent", async () => {
  const arrived: string[] = [];
  await serve((response, url) => {
    arrived.push(url);
    if (arrived.length > 1) response.writeHead(200, json).end("{}");
    else response.writeHead(429, { ...json, "retry-after": "1" }).end('{"reason":"TooManyRequests","message":"later"}');
  });
  await expect(client.send({ method: "GET", path: "/first" })).rejects.toThrow("429 TooManyRequests");
  const waiting = client.send({ method: "GET", path: "/second" });
  await client.send({ method: "GET", path: "/urgent", isUrgent: true });
  await waiting;
  expect(arrived).toEqual(["/first", "/urgent", "/second"]);
});

test("a watch ends where the server ends it", async () => {
  await serve((response, url) => {
    response.writeHead(200, json).write('{"a":1}\n{"b"');
    response.end(`:2}\n{"url":"${url}"}\n`);
  });
  expect(await watch()).toEqual([{ a: 1 }, { b: 2 }, { url: "/x?watch=true" }]);
});

test("a watch whose connection breaks reports that", async () => {
  await serve((response) => {
    response.writeHead(200, json).write('{"a":1}\n');
    setTimeout(() => response.destroy(), 50);
  });
  const [first, error] = await watch();
  expect(first).toEqual({ a: 1 });
  expect(error).toMatch(/aborted|broke/);
});

test("a silent watch is treated as dead, and one with rare events is not", async () => {
  await serve((response) => {
    response.writeHead(200, json).write('{"a":1}\n');
    setTimeout(() => response.write('{"b":2}\n'), 500);
  });
  expect(await watch(2_000)).toEqual([{ a: 1 }, { b: 2 }, "Error: A watch was silent for 2000 ms."]);
});

test("requests are answered beside any number of open watches: an operator has two for each namespace", async () => {
  await serve((response, url) => {
    response.writeHead(200, json);
    if (url.includes("watch")) response.write('{"a":1}\n');
    else response.end("{}");
  });
  const stopping = new AbortController();
  const watches = Array.from({ length: 100 }, () =>
    client.watch({ path: "/x", query: {}, signal: stopping.signal, silenceMs: 60_000 }),
  );
  const firsts = await Promise.all(watches.map(async (each) => (await each.next()).value));
  expect(firsts).toEqual(Array.from({ length: 100 }, () => ({ a: 1 })));
  expect(await get()).toEqual({});
  stopping.abort();
  await Promise.allSettled(watches.map((each) => each.next()));
});

test("a rejected watch is an error with its code", async () => {
  await serve((response) => void response.writeHead(410, json).end('{"reason":"Expired","message":"too old"}'));
  expect(await watch()).toEqual(["KubeError: The Kubernetes API answered 410 Expired: too old"]);
});
