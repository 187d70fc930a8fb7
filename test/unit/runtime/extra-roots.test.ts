import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { rootCertificates } from "node:tls";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { describeUnusableRoot, parseExtraRoots } from "../../../runtime/extra-roots.ts";

const [first = "", second = ""] = rootCertificates;
const KEY = "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n";

const withoutBreaks = (pem: string) => pem.replaceAll(/\s/g, "");

test("each readable certificate is kept once, with its number, line and subject, whatever surrounds it", () => {
  const text = `# ours\n${first}\n${KEY}${second.replaceAll("\n", "\r\n")}\n\n${first}\n`;
  const { usable, unusable } = parseExtraRoots(text);
  expect(usable.map(({ pem }) => withoutBreaks(pem))).toEqual([first, second].map(withoutBreaks));
  expect(usable[0]?.name).toMatch(/^certificate 1 \(line 2, .*CN=/);
  expect(usable[1]?.name).toMatch(/^certificate 2 \(line \d+, .*CN=/);
  expect(unusable).toEqual([]);
});

test.for([
  ["is cut off", "-----BEGIN CERTIFICATE-----\nMIIB\n", /^certificate 2 \(line \d+\)$/],
  ["has other bytes", "-----BEGIN CERTIFICATE-----\n!!!\n-----END CERTIFICATE-----\n", /^certificate 2 \(line \d+\)$/],
  ["is none", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n", /^certificate 2 \(line \d+\)$/],
] as const)("one that %s is named, and the others are kept", ([, block, name]) => {
  const { usable, unusable } = parseExtraRoots(`${first}\n${block}${second}\n`);
  expect(usable.map(({ pem }) => withoutBreaks(pem))).toEqual([first, second].map(withoutBreaks));
  expect(unusable).toEqual([{ name: expect.stringMatching(name), why: expect.stringMatching(/^error:/) }]);
});

test("a process trusts those after one that Node.js cannot read, and reports that one or the file", async () => {
  const directory = await mkdtemp(join(tmpdir(), "gateway-extra-roots-"));
  const file = join(directory, "ca.crt");
  await promisify(execFile)("openssl", [
    "req",
    "-x509",
    "-newkey",
    "ec",
    "-pkeyopt",
    "ec_paramgen_curve:prime256v1",
    "-nodes",
    "-subj",
    "/CN=own",
    "-keyout",
    join(directory, "key"),
    "-out",
    join(directory, "own.crt"),
  ]);
  const program = `
    import { readFileSync } from "node:fs";
    import { getCACertificates } from "node:tls";
    import { trustExtraRoots } from ${JSON.stringify(join(import.meta.dirname, "../../../runtime/extra-roots.ts"))};
    const own = readFileSync(${JSON.stringify(join(directory, "own.crt"))}, "utf8").trim();
    const has = () => getCACertificates("default").some((pem) => pem.trim() === own);
    const before = has();
    trustExtraRoots(process.env, (sentence) => console.log(sentence));
    console.log(before, has(), getCACertificates("default").length > 100);`;
  const own = async (text: string | null) => {
    if (text !== null) await writeFile(file, text);
    const { stdout } = await promisify(execFile)(process.execPath, ["--input-type=module", "--eval", program], {
      env: { NODE_EXTRA_CA_CERTS: file },
    });
    return stdout.trim().split("\n");
  };
  try {
    expect(await own(null)).toEqual([
      `NODE_EXTRA_CA_CERTS: ${file} is not used: ENOENT: no such file or directory, open '${file}'`,
      "false false true",
    ]);
    const pem = await readFile(join(directory, "own.crt"), "utf8");
    const broken = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
    expect(await own(broken + pem)).toEqual([
      expect.stringMatching(/^NODE_EXTRA_CA_CERTS: certificate 1 \(line 1\) is not used: error:/),
      "false true true",
    ]);
    expect(await own(pem + pem)).toEqual(["true true true"]);
  } finally {
    await rm(directory, { recursive: true });
  }
});

test("the sentence about one names the variable", () => {
  expect(describeUnusableRoot({ name: "certificate 2 (line 9)", why: "x" })).toBe(
    "NODE_EXTRA_CA_CERTS: certificate 2 (line 9) is not used: x",
  );
});
