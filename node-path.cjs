"use strict";

/*
 * Prints the PATH for npm scripts, with Node 24 first in it:
 *
 *     PATH=$(node node-path.cjs) && exec vitest run
 *
 * The shell then becomes the program: there is no process between to pass on signals and exit codes. Whatever Node the
 * machine has must be able to read this file and fetch-node.cjs, so they use old syntax and no packages.
 */

const { spawnSync } = require("child_process");
const { existsSync } = require("fs");
const { homedir } = require("os");
const path = require("path");
const { NODE_VERSION, fetchNode, isPinned, makeWorkspace, programIn } = require("./fetch-node.cjs");

const OLDEST_MAJOR = 24;
const TOO_OLD = `Model Gateway needs Node.js ${OLDEST_MAJOR} or later, and this is ${process.version}`;
const INSTALL = `install Node.js ${OLDEST_MAJOR} or later`;

const packages = path.join(__dirname, "node_modules");
// Beside the packages where the user's own directory cannot be written.
const caches = [userCache(), path.join(packages, ".cache", "model-gateway")];

if (!existsSync(packages)) fail("The packages are not installed: run npm ci first.");
// The shell found this Node on the PATH, and will find it there again.
else if (Number(process.versions.node.split(".")[0]) >= OLDEST_MAJOR) print(process.env.PATH);
else if (process.platform !== "linux" || !isPinned) fail(`${TOO_OLD}: ${INSTALL}.`);
else printFetched();

function printFetched() {
  const program = caches.map(programIn).find(existsSync) || fetch();
  if (program === null) return;
  // A machine with another C library has the file, and cannot run it.
  if (spawnSync(program, ["--version"]).status === 0) print(path.dirname(program) + path.delimiter + process.env.PATH);
  else fail(`${TOO_OLD}; ${program} does not run on this machine: ${INSTALL}.`);
}

function fetch() {
  const target = findWritableCache();
  if (target === null) {
    fail(
      `${TOO_OLD}; Node.js ${NODE_VERSION} cannot be fetched into ${caches.join(" or ")}, because neither is writable: ${INSTALL}.`,
    );
    return null;
  }
  process.stderr.write(`Fetching Node.js ${NODE_VERSION} once, 50 MB …\n`);
  try {
    fetchNode(target.cache, target.workspace);
    return programIn(target.cache);
  } catch (error) {
    fail(
      `${TOO_OLD}; Node.js ${NODE_VERSION} could not be fetched (${error.message}): check the network and npm's settings, or ${INSTALL}.`,
    );
    return null;
  }
}

/** The first cache that can be written, and a workspace in it. */
function findWritableCache() {
  for (const cache of caches) {
    try {
      return { cache, workspace: makeWorkspace(cache) };
    } catch (error) {
      if (error.code === undefined) throw error;
    }
  }
  return null;
}

/** As local/cache-directory.ts has it, which an old Node cannot read. */
function userCache() {
  const configured = process.env.XDG_CACHE_HOME;
  const base = configured && path.isAbsolute(configured) ? configured : path.resolve(homedir(), ".cache");
  return path.join(base, "model-gateway");
}

function print(text) {
  process.stdout.write(`${text}\n`);
}

function fail(sentence) {
  process.stderr.write(`${sentence}\n`);
  process.exitCode = 1;
}
