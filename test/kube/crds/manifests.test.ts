import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import { parse } from "yaml";
import * as z from "zod";
import { parseApiKeyResource } from "../../../operator/apikey/resource.ts";
import { GROUP, VERSION } from "../../../operator/crd/group.ts";
import { parseModelResource } from "../../../operator/model/resource.ts";
import { installCrds } from "../../support/kube/crds.ts";
import { useKubeApi } from "../../support/kube/use-kube-api.ts";

const api = useKubeApi();
beforeAll(() => installCrds(api()));

describe.for([
  { folder: "model", parseResource: parseModelResource },
  { folder: "apikey", parseResource: parseApiKeyResource },
] as const)("$folder", ({ folder, parseResource }) => {
  test.for(manifestsIn(`${folder}/valid`))("the API server and a folder of manifests accept %s", async (file) => {
    const text = read(file);
    expect(parseResource(parse(text))).toMatchObject({ kind: "good" });
    expect(await create(text)).toMatchObject({ metadata: { uid: expect.any(String) } });
  });

  test.for(manifestsIn(`${folder}/invalid`))(
    "the API server and a folder of manifests reject %s, with a remedy",
    async (file) => {
      const text = read(file);
      const parsed = parseResource(parse(text));
      const problems = parsed.kind === "bad" ? parsed.problems : [];
      const refusal = await create(text).then(
        () => "nothing",
        (error: unknown) => (error instanceof Error ? sorted(error.message) : String(error)),
      );
      const sayings = `The API server says:\n${refusal}\n\nA folder of manifests says:\n${problems.join("\n")}\n`;
      expect(problems).not.toHaveLength(0);
      expect(refusal).not.toBe("nothing");
      await expect(sayings).toMatchFileSnapshot(path.join(import.meta.dirname, file.replace(/\.yaml$/, ".txt")));
    },
  );
});

test("the API server accepts the manifests that come with the product", async () => {
  const manifests = path.join(import.meta.dirname, "../../../local/manifests");
  expect(await api().kubectl(["create", "--dry-run=server", "--validate=strict", "--filename", manifests])).toContain("created");
});

/** As `kubectl create --dry-run=server --validate=strict` does. */
function create(text: string): Promise<unknown> {
  const content = z.looseObject({ kind: z.string() }).parse(parse(text));
  const collection = `/apis/${GROUP}/${VERSION}/namespaces/default/${content.kind.toLowerCase()}s`;
  return api().send(`${collection}?dryRun=All&fieldValidation=Strict`, { how: "POST", content });
}

/** The API server looks at the fields of an object in no certain order. */
function sorted(refusal: string): string {
  const [first, ...others] = refusal.split("\n");
  return [first, ...others.map((line) => line.trim()).sort()].join("\n");
}

function manifestsIn(folder: string): string[] {
  const names = readdirSync(path.join(import.meta.dirname, folder)).filter((name) => name.endsWith(".yaml"));
  return names.map((name) => `${folder}/${name}`);
}

function read(file: string): string {
  return readFileSync(path.join(import.meta.dirname, file), "utf8");
}
