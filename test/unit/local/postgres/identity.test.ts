import { describe, expect, test } from "vitest";
import { chooseUser, commandAs } from "../../../../local/postgres/identity.ts";

const ROOT = "root:x:0:0:root:/root:/bin/bash";
const NOBODY = "nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin";
const POSTGRES = "postgres:x:101:104:PostgreSQL,,,:/var/lib/postgresql:/bin/bash";
const SOMEONE = "someone:x:1000:1000::/home/someone:/bin/sh";

describe("the user PostgreSQL runs as when started by root", () => {
  test("the user postgres, if it exists", () => {
    expect(chooseUser([ROOT, NOBODY, POSTGRES, ""].join("\n"))).toStrictEqual({ name: "postgres", uid: 101, gid: 104 });
  });

  test("nobody, if it does not", () => {
    expect(chooseUser([ROOT, NOBODY].join("\n"))).toMatchObject({ name: "nobody", uid: 65534 });
  });

  test("the owner of the cluster, if there is a cluster", () => {
    expect(chooseUser([ROOT, NOBODY, POSTGRES, SOMEONE].join("\n"), 1000)).toMatchObject({ name: "someone" });
  });

  test("not root, even if root owns it", () => {
    expect(chooseUser([ROOT, NOBODY].join("\n"), 0)).toMatchObject({ name: "nobody" });
  });

  test("a machine with neither gets the remedy", () => {
    expect(() => chooseUser(ROOT)).toThrow("start as a user other than root");
  });
});

test("passing through a closed directory takes one capability, and no other of root's", () => {
  const user = { name: "nobody", uid: 65534, gid: 65534 };
  const command = commandAs({ kind: "user with passage", user }, "/bin/initdb", ["-D", "x"]);
  expect(command.program).toBe("setpriv");
  expect(command.parameters).toStrictEqual([
    "--reuid=65534",
    "--regid=65534",
    "--clear-groups",
    "--securebits=+no_setuid_fixup",
    "--inh-caps=+dac_override",
    "--ambient-caps=+dac_override",
    "/bin/initdb",
    "-D",
    "x",
  ]);
});
