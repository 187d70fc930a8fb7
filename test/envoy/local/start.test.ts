import { execFile } from "node:child_process";
import { readFile, stat } from "node:fs/promises";
import path from "node:path";
import process from "node:process";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { eventually } from "../../support/eventually.ts";
import { makeMigratedHome, makeHome, type Home, type LocalProcess } from "../../support/stacks/local-process.ts";
import { startRecordingUpstream } from "../../support/servers/recording-upstream.ts";

const run = promisify(execFile);

const READY = /Ctrl-C stops everything/;

async function settings(data: string): Promise<{ baseUrl: string; key: string }> {
  const text = await readFile(path.join(data, "local.env"), "utf8");
  const match =
    /^GATEWAY_BASE_URL=(\S+)\nGATEWAY_API_KEY=(\S+)\nDASHBOARD_URL=\S+\nDASHBOARD_EMAIL=\S+\nDASHBOARD_PASSWORD=\S+\n$/.exec(
      text,
    );
  return { baseUrl: match?.[1] ?? "", key: match?.[2] ?? "" };
}

async function available({ baseUrl, key }: { baseUrl: string; key: string }): Promise<string> {
  const response = await fetch(`${baseUrl}/v1/balance`, { headers: { authorization: `Bearer ${key}` } });
  return JSON.stringify(await response.json());
}

const availableIn = (balance: string) => Number(/"available":"([\d.]+)"/.exec(balance)?.[1]);

function printedCommands(local: LocalProcess): string[] {
  return local.output().match(/^curl(?:.*\\\n)*.*$/gm) ?? [];
}

async function stopGroup(local: LocalProcess): Promise<number | null> {
  process.kill(-local.pid, "SIGTERM");
  return await local.exited;
}

describe("a first start, and the next one", () => {
  let home: Home;
  let first: LocalProcess;
  let second: LocalProcess;
  let before: { baseUrl: string; key: string };
  /** Of the account, after both commands. */
  let left = "";

  beforeAll(async () => {
    home = await makeHome(afterAll);
    first = await home.start();
    await first.shows(READY);
    before = await settings(home.data);
    expect(await available(before)).toContain('"available":"5.000000000"');
  });

  test("both printed commands work when pasted into a shell, streaming (S36)", async () => {
    // Node parts, Envoy, Postgres with its own children, and the supervisor: what is looked for below can be found.
    expect((await home.survivors()).length).toBeGreaterThanOrEqual(6);
    expect(first.output()).toContain(`manifests  ${path.join(home.data, "manifests")} (edit them`);
    const sockets = path.join(home.data, "sockets");
    expect((await stat(sockets)).mode & 0o777, "nobody else can enter where credentials are handed out").toBe(0o700);
    expect((await stat(path.join(sockets, "xds.sock"))).isSocket()).toBe(true);
    const [chat = "", messages = ""] = printedCommands(first);
    const chatAnswer = await run("sh", ["-c", chat]);
    expect(chatAnswer.stdout).toMatch(/simulation[^]*data: \[DONE\]\n\n$/);
    const messagesAnswer = await run("sh", ["-c", messages]);
    expect(messagesAnswer.stdout).toMatch(/^event: message_start\n[^]*simulation[^]*event: message_stop\n/);
    left = await eventually(async () => {
      const balance = await available(before);
      expect(balance).toMatch(/"available":"4\.99\d+","held":"0\.0+"/);
      return balance;
    });
  });

  test("a stream that is running when the stack is stopped is finished", async () => {
    const body = { model: "modelx-v4-flash", max_tokens: 500, stream: true };
    const response = await fetch(`${before.baseUrl}/v1/messages`, {
      method: "POST",
      headers: { "x-api-key": before.key, "content-type": "application/json" },
      body: JSON.stringify({ ...body, messages: [{ role: "user", content: "[[sim tokens=40 chunk-ms=50]]" }] }),
    });
    process.kill(first.pid, "SIGINT");
    expect(await response.text()).toContain("event: message_stop");
    expect(await first.exited).toBe(0);
    expect(await home.survivors()).toStrictEqual([]);
  });

  test("secrets are readable only by their owner, and appear in no log", async () => {
    const secrets = [before.key, (await readFile(path.join(home.data, "pepper"), "utf8")).trim()];
    secrets.push((await readFile(path.join(home.data, "postgres", "password"), "utf8")).trim());
    for (const file of ["local.env", "pepper", "postgres/password"]) {
      expect((await stat(path.join(home.data, file))).mode & 0o777).toBe(0o600);
    }
    for (const name of ["access", "envoy", "extproc", "operator", "postgres", "simulator"]) {
      const log = await readFile(path.join(home.data, "logs", `${name}.log`), "utf8");
      for (const secret of secrets)
        expect({ name, holdsSecret: log.includes(secret) }).toStrictEqual({ name, holdsSecret: false });
    }
  });

  test("a second start keeps the same key, grants the credit only once, and has charged the stream", async () => {
    const startedAt = performance.now();
    second = await home.start();
    await second.shows(READY);
    console.log(`A warm start was ready in ${Math.round(performance.now() - startedAt)} ms.`);
    const after = await settings(home.data);
    expect(after.key).toBe(before.key);
    const balance = await available(after);
    expect(balance).toMatch(/"available":"4\.99\d+","held":"0\.0+"/);
    expect(availableIn(balance)).toBeLessThan(availableIn(left));
  });

  test("stops in order when Ctrl-C arrives twice, from the terminal and from npm", async () => {
    process.kill(-second.pid, "SIGINT");
    process.kill(second.pid, "SIGINT");
    expect(await second.exited).toBe(0);
    expect(second.output().trimEnd()).toMatch(/\nStopped; the data is kept\.$/);
    expect(await home.survivors()).toStrictEqual([]);
  });
});

const REFUSED = "answer 404";

/** A small server for chat completions at `/v1`, which has one model and wants a key. */
async function startModelServer() {
  const server = await startRecordingUpstream((request, response, body) => {
    const isThere = request.url === "/v1/chat/completions" && body.includes('"model":"org/small"');
    if (!isThere || body.includes(REFUSED) || request.headers.authorization !== "Bearer upstream-key") {
      response.writeHead(404, { "content-type": "text/plain" }).end("404 page not found");
      return;
    }
    const chunk = { id: "c", object: "chat.completion.chunk", created: 1, model: "org/small" };
    const choices = [{ index: 0, delta: { role: "assistant", content: "Hello from the model server" }, finish_reason: "stop" }];
    const usage = { prompt_tokens: 3, completion_tokens: 4, total_tokens: 7 };
    response.writeHead(200, { "content-type": "text/event-stream" });
    for (const each of [{ choices }, { choices: [], usage }])
      response.write(`data: ${JSON.stringify({ ...chunk, ...each })}\n\n`);
    response.end("data: [DONE]\n\n");
  });
  onTestFinished(() => server.stop());
  return server;
}

test("a real model server takes the simulator's place: the screen and both commands lead there, and its errors are in the logs", async () => {
  const home = await makeMigratedHome();
  const { port } = await startModelServer();
  const words = ["--upstream-chat", `http://127.0.0.1:${port}`, "--upstream-model", "org/small"];
  const local = await home.start(words, { UPSTREAM_KEY: "upstream-key" });
  await local.shows(READY);
  expect(local.output()).toContain(`Note: --upstream-chat has no /v1: http://127.0.0.1:${port}/v1 is used.`);
  for (const name of ["org/small", "modelx-v4-pro"])
    expect(local.output()).toMatch(new RegExp(`^.* ${name} +http://127\\.0\\.0\\.1:${port}/v1, model org/small$`, "m"));
  expect(local.output()).toMatch(/^ +modelx-v4-flash +simulated$/m);
  const commands = printedCommands(local);
  expect(commands).toHaveLength(2);
  for (const command of commands) {
    expect(command).toContain('"model":"org/small"');
    expect((await run("sh", ["-c", command])).stdout).toContain("Hello from the model server");
  }

  const { baseUrl, key } = await settings(home.data);
  const refused = await fetch(`${baseUrl}/v1/chat/completions`, {
    method: "POST",
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
    body: JSON.stringify({ model: "org/small", messages: [{ role: "user", content: REFUSED }] }),
  });
  expect(refused.status).toBe(502);
  const text = await refused.text();
  for (const internal of ["404", "/v1/chat", String(port)]) expect(text).not.toContain(internal);
  const logs: [string, string][] = [
    ["extproc.log", '"upstreamStatus":404,"upstreamPath":"/v1/chat/completions","status":502,"code":"upstream_error"'],
    ["access.log", '"details":"gateway_upstream_error:upstream_status_404"'],
  ];
  // The answer may arrive before its log line is on the disk.
  for (const [file, line] of logs)
    await eventually(async () => expect(await readFile(path.join(home.data, "logs", file), "utf8")).toContain(line));
  expect(await stopGroup(local)).toBe(0);
  expect(local.output()).not.toContain("upstream-key");
});
