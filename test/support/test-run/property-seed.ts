import process from "node:process";
import fc from "fast-check";

/**
 * The usual run tries the same examples each time; by night another number each time, or the one that failed. It stops at
 * the first example that fails: shrinking a large one has kept a worker busy for ever. PROPERTY_SHRINK=1 makes it small.
 */
fc.configureGlobal({
  seed: Number(process.env["PROPERTY_SEED"] ?? "1"),
  endOnFailure: process.env["PROPERTY_SHRINK"] === undefined,
});
