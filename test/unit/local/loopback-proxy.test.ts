import { execFile } from "node:child_process";
import { createServer } from "node:http";
import path from "node:path";
import process from "node:process";
import { promisify } from "node:util";
import { expect, onTestFinished, test } from "vitest";
import { hasProxy, passLoopback } from "../../../local/loopback-proxy.ts";

const run = promisify(execFile);
const MODULE = path.join(import.meta.dirname, "../../../local/loopback-proxy.ts");

test("requests to the loopback address bypass a proxy that Node was configured to use", async () => {
  const server = createServer((_, response) => response.end("past the proxy"));
  const { promise, resolve } = Promise.withResolvers<void>();
  server.listen(0, "127.0.0.1", resolve);
  await promise;
  onTestFinished(() => void server.close());
  const address = server.address();
  const port = typeof address === "object" && address !== null ? address.port : 0;
  const script = `
    import { passLoopback } from ${JSON.stringify(MODULE)};
    passLoopback(process.env, "127.0.0.1");
    console.log(await (await fetch("http://127.0.0.1:${port}/")).text());`;
  for (const names of [{ NO_PROXY: "intranet.example" }, { no_proxy: "intranet.example" }, {}]) {
    // Nobody listens there.
    const environment = { NODE_USE_ENV_PROXY: "1", HTTP_PROXY: "http://127.0.0.1:1", http_proxy: "http://127.0.0.1:1", ...names };
    const { stdout } = await run(process.execPath, ["--input-type=module", "--eval", script], { env: environment });
    expect(stdout).toBe("past the proxy\n");
  }
});

test("existing proxy exceptions stay", () => {
  const environment: Record<string, string | undefined> = { NO_PROXY: "intranet.example" };
  passLoopback(environment, "127.0.0.1");
  expect(environment).toStrictEqual({
    no_proxy: "intranet.example,127.0.0.1",
    NO_PROXY: "intranet.example,127.0.0.1",
  });
});

test("curl would use a proxy under any of its names", () => {
  expect(hasProxy({})).toBe(false);
  expect(hasProxy({ http_proxy: "" })).toBe(false);
  expect(hasProxy({ all_proxy: "http://proxy.example:3128" })).toBe(true);
  expect(hasProxy({ HTTP_PROXY: "http://proxy.example:3128" })).toBe(true);
});
