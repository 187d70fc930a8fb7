import { chmod, mkdir, mkdtemp, rm, stat, writeFile } from "node:fs/promises";
import { connect, createServer } from "node:net";
import { once } from "node:events";
import { tmpdir } from "node:os";
import path from "node:path";
import { execFile } from "node:child_process";
import { afterEach, beforeEach, expect, test } from "vitest";
import { chooseSocketDirectory } from "../../../../local/process/socket-directory.ts";
import { prepareSocket } from "../../../../operator/xds/socket-file.ts";

let root: string;
beforeEach(async () => void (root = await mkdtemp(path.join(tmpdir(), "gateway-socket-"))));
afterEach(() => rm(root, { recursive: true }));

const modeOf = async (file: string) => (await stat(file)).mode & 0o777;

test("the directory of the discovery socket is created so that only its owner can enter it (S43)", async () => {
  await prepareSocket(path.join(root, "sockets", "xds.sock"));
  expect(await modeOf(path.join(root, "sockets"))).toBe(0o700);
});

test.for([0o755, 0o710, 0o701, 0o770])("a directory that others can enter (%o) is rejected in one sentence", async (mode) => {
  const directory = path.join(root, "sockets");
  await mkdir(directory);
  await chmod(directory, mode);
  await expect(prepareSocket(path.join(directory, "xds.sock"))).rejects.toThrow(`${directory} must be a directory that belongs`);
});

test("a killed process's leftover socket is removed, and nothing else", async () => {
  await chmod(root, 0o700);
  const socket = path.join(root, "xds.sock");
  const server = createServer().listen(socket);
  await once(server, "listening");
  await prepareSocket(socket);
  const [error] = await once(connect(socket), "error");
  expect(error).toMatchObject({ code: "ENOENT" });
  server.close();

  await writeFile(socket, "a file");
  await prepareSocket(socket);
  expect((await stat(socket)).isFile()).toBe(true);
});

test("a path that is too long for a socket is replaced by the system's temporary directory, equally protected", async () => {
  const long = path.join(root, "x".repeat(100));
  const chosen = await chooseSocketDirectory(long);
  expect(chosen.path.startsWith(long)).toBe(false);
  expect(await modeOf(chosen.path)).toBe(0o700);
  await chosen.remove();
  await expect(stat(chosen.path)).rejects.toThrow("ENOENT");

  const short = await chooseSocketDirectory(path.join(root, "sockets"));
  expect([short.path, await modeOf(short.path)]).toEqual([path.join(root, "sockets"), 0o700]);
});

test("the operator does not start on plain TCP, and explains what to set (S43)", async () => {
  const main = path.join(import.meta.dirname, "../../../../operator/main.ts");
  const env = { DATABASE_URL: "postgres://127.0.0.1:1/none", GATEWAY_MANIFESTS: root };
  const { promise, resolve } = Promise.withResolvers<string>();
  execFile(process.execPath, [main], { env, timeout: 50_000 }, (_error, stdout, stderr) => resolve(stdout + stderr));
  expect(await promise).toContain("XDS_TLS_DIRECTORY: set it to a directory with ca.crt, tls.crt and tls.key, or set XDS_SOCKET");
});
