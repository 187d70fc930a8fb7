import { rmSync } from "node:fs";
import { mkdtemp, readdir, readFile, rm, statfs } from "node:fs/promises";
import path from "node:path";
import process from "node:process";
import { errorCode } from "../../../runtime/error-code.ts";

/** A file system in memory that Linux has anyway. */
const IN_MEMORY = "/dev/shm";
const TMPFS = 0x0102_1994;
/** Temporary files take 2 GiB at most; the processes of tests need the rest. */
const NEEDED_BYTES = 8 * 1024 ** 3;
/** Short: paths of Unix sockets are below it. */
const PREFIX = "gateway-";

/**
 * Keeps the temporary files of this process, and of those that it starts, in memory until it ends. Tests make, copy and throw
 * away hundreds of databases, and on a disk the kernel works longer on their files than the servers on what is in them.
 * What workers compile is among them. Does nothing where memory is short or TMPDIR names a place.
 */
export async function keepTemporaryFilesInMemory(): Promise<void> {
  if ((process.env["TMPDIR"] ?? "") !== "" || !(await isRoomy())) return;
  await removeLeftovers();
  const directory = await mkdtemp(path.join(IN_MEMORY, `${PREFIX}${process.pid}-`));
  process.env["TMPDIR"] = directory;
  // Some fifty workers load the product, and half of that is compiling it. Not kept for other runs: Vitest loads each test file
  // from an address that no other run has.
  process.env["NODE_COMPILE_CACHE"] = path.join(directory, "compiled");
  // After an interruption, processes that are ending may still write to it for a moment.
  process.once("exit", () => rmSync(directory, { recursive: true, force: true, maxRetries: 10 }));
}

async function isRoomy(): Promise<boolean> {
  if (process.platform !== "linux" || process.availableMemory() < NEEDED_BYTES) return false;
  const [size, mounts] = await Promise.all([statfs(IN_MEMORY), readFile("/proc/self/mounts", "utf8")]).catch(() => []);
  if (size?.type !== TMPFS || size.bavail * size.bsize < NEEDED_BYTES) return false;
  const mount = mounts?.split("\n").findLast((line) => line.split(" ")[1] === IN_MEMORY);
  // Tests write programs, and run them.
  return mount !== undefined && !/\bnoexec\b/.test(mount);
}

/** What a killed run has left would take memory until the machine restarts. */
async function removeLeftovers(): Promise<void> {
  for (const name of await readdir(IN_MEMORY)) {
    const pid = Number(new RegExp(`^${PREFIX}(\\d+)-`).exec(name)?.[1]);
    if (Number.isInteger(pid) && !isRunning(pid)) await rm(path.join(IN_MEMORY, name), { recursive: true, force: true });
  }
}

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return errorCode(error) !== "ESRCH";
  }
}
