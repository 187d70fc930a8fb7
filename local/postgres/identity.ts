import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import process from "node:process";
import { promisify } from "node:util";

const run = promisify(execFile);

export interface SystemUser {
  name: string;
  uid: number;
  gid: number;
}

/** Where system programs are; the servers inherit nothing else of our environment. */
export const SYSTEM_PATH = "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin";

/** The user that PostgreSQL runs as: it refuses uid 0. */
export type Identity =
  | { kind: "self" }
  | { kind: "user"; user: SystemUser }
  /** The user cannot enter a directory on the path (a 0700 home), so it gets one capability for that. */
  | { kind: "user with passage"; user: SystemUser };

export interface Command {
  program: string;
  parameters: readonly string[];
  uid?: number;
  gid?: number;
}

/**
 * Our own user, unless that is root: then `postgres`, otherwise `nobody`.
 * @param programs and directories that this user must be able to reach.
 * @throws Error with one sentence if no such user exists or none of the methods reaches them.
 */
export async function chooseIdentity(reach: {
  program: string;
  directory: string;
  ownerUid?: number;
  passwd?: string;
}): Promise<Identity> {
  if (process.getuid?.() !== 0) return { kind: "self" };
  const user = chooseUser(reach.passwd ?? (await readFile("/etc/passwd", "utf8")), reach.ownerUid);
  const plain: Identity = { kind: "user", user };
  if (await canReach(plain, reach)) return plain;
  const withPassage: Identity = { kind: "user with passage", user };
  if (await canReach(withPassage, reach)) return withPassage;
  throw new Error(
    `PostgreSQL does not run as root, and the user ${user.name} cannot reach ${reach.directory} or ${reach.program}: start as a user other than root, or move this checkout to a directory that ${user.name} can read.`,
  );
}

/**
 * The owner of an existing cluster, otherwise `postgres`, otherwise `nobody`.
 * @param passwd text of /etc/passwd.
 * @throws Error with one sentence if there is none.
 */
export function chooseUser(passwd: string, ownerUid?: number): SystemUser {
  const users = passwd.split("\n").flatMap((line): SystemUser[] => {
    const [name, , uid, gid] = line.split(":");
    if (name === undefined || name === "" || uid === undefined || gid === undefined) return [];
    return [{ name, uid: Number(uid), gid: Number(gid) }];
  });
  const user =
    users.find(({ uid }) => uid === ownerUid && uid !== 0) ??
    users.find(({ name }) => name === "postgres") ??
    users.find(({ name }) => name === "nobody");
  if (user !== undefined) return user;
  throw new Error(
    "PostgreSQL does not run as root, and this machine has no user postgres or nobody: start as a user other than root.",
  );
}

/** The command that runs a program under an identity; it becomes that program, in the same process. */
export function commandAs(identity: Identity, program: string, parameters: readonly string[]): Command {
  switch (identity.kind) {
    case "self":
      return { program, parameters };
    case "user":
      return { program, parameters, uid: identity.user.uid, gid: identity.user.gid };
    case "user with passage": {
      const { uid, gid } = identity.user;
      // PostgreSQL tests its own path with access(2), which ignores the capabilities of a user other than root unless
      // no_setuid_fixup is set.
      const privileges = [
        `--reuid=${uid}`,
        `--regid=${gid}`,
        "--clear-groups",
        "--securebits=+no_setuid_fixup",
        "--inh-caps=+dac_override",
        "--ambient-caps=+dac_override",
      ];
      return { program: "setpriv", parameters: [...privileges, program, ...parameters] };
    }
  }
}

/** Tries it for real: mode bits alone do not cover access lists, mounts or missing capabilities. */
async function canReach(identity: Identity, reach: { program: string; directory: string }): Promise<boolean> {
  const script = 'cd "$1" && exec "$2" --version';
  const { program, parameters, uid, gid } = commandAs(identity, "/bin/sh", ["-c", script, "sh", reach.directory, reach.program]);
  try {
    await run(program, parameters, { uid, gid, cwd: "/", env: { PATH: SYSTEM_PATH }, timeout: 20_000 });
    return true;
  } catch {
    return false;
  }
}
