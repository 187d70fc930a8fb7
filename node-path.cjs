"use strict";

/*
 * Prints the PATH for npm scripts, with Node 24 first in it:
 *
 *     PATH=$(node node-path.cjs) && exec vitest run
 *
 * The shell then becomes the program: there is no process between to pass on signals and exit codes. Whatever Node the
 * machine has must be able to read this file, so it uses old syntax and no packages. The link node_modules/.bin/node does
 * not help: npm before 11.7 removes it, because two optional packages, one for each processor, claim that name.
 */

const { spawnSync } = require("child_process");
const { existsSync } = require("fs");
const path = require("path");

const OLDEST_MAJOR = 24;
const TOO_OLD = `Model Gateway needs Node.js ${OLDEST_MAJOR} or later, and this is ${process.version}`;

const packages = path.join(__dirname, "node_modules");
const packaged = path.join(packages, `node-linux-${process.arch}`, "bin");

if (!existsSync(packages)) fail("The packages are not installed: run npm ci first.");
else if (process.platform === "linux" && runs(path.join(packaged, "node"))) print(packaged + path.delimiter + process.env.PATH);
// The shell found this Node on the PATH, and will find it there again.
else if (Number(process.versions.node.split(".")[0]) >= OLDEST_MAJOR) print(process.env.PATH);
else if (process.platform !== "linux") fail(`${TOO_OLD}: install Node.js ${OLDEST_MAJOR}.`);
else if (existsSync(packaged))
  fail(`${TOO_OLD}; the one that npm installed does not run on this machine: install Node.js ${OLDEST_MAJOR}.`);
else fail(`${TOO_OLD}: install Node.js ${OLDEST_MAJOR}, or run npm ci without --omit=optional, and npm installs it.`);

/** A machine with another C library has the file, and cannot run it. */
function runs(program) {
  return existsSync(program) && (process.execPath === program || spawnSync(program, ["--version"]).status === 0);
}

function print(text) {
  process.stdout.write(`${text}\n`);
}

function fail(sentence) {
  process.stderr.write(`${sentence}\n`);
  process.exitCode = 1;
}
