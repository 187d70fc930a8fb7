import { once } from "node:events";
import { chmod, mkdir, mkdtemp, rm } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";

export interface SocketDirectory {
  readonly path: string;
  /** Once nothing uses it. */
  remove(): Promise<void>;
}

/** The shortest limit of systems for a Unix socket's path is macOS's: 104 bytes including the final NUL. */
const LONGEST_PATH = 103;
const LONGEST_NAME = 16;

/**
 * A directory for Unix sockets that only this user can enter. It is the requested one, unless its path is too long or its file
 * system does not support sockets (shared folders of virtual machines); then one below the system's temporary directory.
 * @throws Error with one sentence if neither works.
 */
export async function chooseSocketDirectory(wanted: string): Promise<SocketDirectory> {
  const remove = (directory: string) => () => rm(directory, { recursive: true, force: true });
  await mkdir(wanted, { recursive: true, mode: 0o700 });
  await chmod(wanted, 0o700);
  if (await takesSockets(wanted)) return { path: wanted, remove: remove(wanted) };
  const other = await mkdtemp(path.join(tmpdir(), "model-gateway-"));
  if (await takesSockets(other)) return { path: other, remove: remove(other) };
  await remove(other)();
  throw new Error(`Neither ${wanted} nor ${tmpdir()} supports Unix sockets: choose a shorter path with --data, or set TMPDIR.`);
}

async function takesSockets(directory: string): Promise<boolean> {
  if (Buffer.byteLength(path.join(directory, "x".repeat(LONGEST_NAME))) > LONGEST_PATH) return false;
  const probe = path.join(directory, "probe.sock");
  await rm(probe, { force: true });
  const server = createServer().listen(probe);
  try {
    await once(server, "listening");
    return true;
  } catch {
    return false;
  } finally {
    server.close();
  }
}
