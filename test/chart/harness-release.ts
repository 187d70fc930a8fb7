import { execFile } from "node:child_process";
import { cp, symlink, utimes, writeFile } from "node:fs/promises";
import path from "node:path";
import { promisify } from "node:util";
import { ROOT } from "../../charts/generate/outputs.ts";

const run = promisify(execFile);
const INPUTS = [".ci", ".npmrc", "LICENSE", "charts", "fetch-node.cjs", "node-path.cjs", "package.json", "package-lock.json"];
const COMMIT = { GIT_AUTHOR_DATE: "2026-01-02T03:04:05Z", GIT_COMMITTER_DATE: "2026-01-02T03:04:05Z" };

interface ReleaseOptions {
  mask: string;
  at: Date;
  /** What `.ci/sbom` printed before; it runs again if absent. */
  bill?: string;
}

/** Runs `.ci/release` without the image in a new clone, whose folder `out` has the result. */
export async function release(clone: string, { mask, at, bill }: ReleaseOptions): Promise<void> {
  for (const input of INPUTS) await cp(path.join(ROOT, input), path.join(clone, input), { recursive: true });
  if (bill !== undefined) await writeFile(path.join(clone, ".ci/sbom"), `#!/usr/bin/env bash\ncat '${bill}'\n`);
  await symlink(path.join(ROOT, "node_modules"), path.join(clone, "node_modules"));
  await utimes(path.join(clone, "charts/model-gateway/values.yaml"), at, at);
  const git = async (...words: string[]) =>
    run("git", ["-c", "user.name=Test", "-c", "user.email=test@example.com", "-C", clone, ...words], {
      env: { ...process.env, ...COMMIT },
    });
  await git("init", "--quiet");
  await git("add", ...INPUTS);
  await git("commit", "--quiet", "--message", "One commit");
  const parameters = ["--output", path.join(clone, "out"), "--registry", "registry.example/team", "--no-image"];
  const script = `umask ${mask} && .ci/release "$@"`;
  await run("bash", ["-c", script, "bash", ...parameters, "--source", "https://git.example/model-gateway"], { cwd: clone });
}
