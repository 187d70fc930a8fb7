import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";

const run = promisify(execFile);

export interface TlsCertificates {
  /** PEM of the authority. */
  ca: string;
  certificate: string;
  key: string;
}

/** An authority of a few days, and a server certificate that it made out to one name and IP address. Needs `openssl` on PATH. */
export async function makeCertificates(name: string, address?: string): Promise<TlsCertificates> {
  const directory = await mkdtemp(join(tmpdir(), "gateway-tls-"));
  const file = (suffix: string) => join(directory, suffix);
  const curve = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "3"];
  try {
    await run("openssl", [
      "req",
      "-x509",
      ...curve,
      "-subj",
      "/CN=test authority",
      "-keyout",
      file("ca.key"),
      "-out",
      file("ca.crt"),
    ]);
    await run("openssl", [
      "req",
      ...curve.slice(0, 5),
      "-subj",
      `/CN=${name}`,
      "-keyout",
      file("server.key"),
      "-out",
      file("server.csr"),
    ]);
    await writeFile(file("names"), `subjectAltName=DNS:${name}${address === undefined ? "" : `,IP:${address}`}`);
    const signing = ["-CA", file("ca.crt"), "-CAkey", file("ca.key"), "-CAcreateserial", "-days", "3", "-extfile", file("names")];
    await run("openssl", ["x509", "-req", "-in", file("server.csr"), ...signing, "-out", file("server.crt")]);
    const [ca, certificate, key] = await Promise.all(
      ["ca.crt", "server.crt", "server.key"].map((suffix) => readFile(file(suffix), "utf8")),
    );
    return { ca: ca ?? "", certificate: certificate ?? "", key: key ?? "" };
  } catch (error) {
    throw new Error("Test certificates could not be made: install openssl (Debian package `openssl`).", { cause: error });
  } finally {
    await rm(directory, { recursive: true });
  }
}
