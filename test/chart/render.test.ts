import { readdir, readFile } from "node:fs/promises";
import path from "node:path";
import { stringify } from "yaml";
import { beforeAll, describe, expect, test } from "vitest";
import { untilEstablished } from "../support/kube/crds.ts";
import { useKubeApi } from "../support/kube/use-kube-api.ts";
import {
  CHART,
  EXTERNAL_DATABASE,
  NAMESPACE,
  parseObjects,
  render,
  renderText,
  title,
  type KubeObject,
} from "./harness-render.ts";
import { podsOf } from "./harness-pods.ts";
import { chosenOfMatrix, MATRIX } from "./harness-values.ts";

const api = useKubeApi();

beforeAll(async () => {
  const foreign = path.join(import.meta.dirname, "foreign/crds.yaml");
  await api().kubectl(["apply", "--filename", foreign]);
  for (const name of [NAMESPACE, "team-a", "team-b"]) await api().kubectl(["create", "namespace", name]);
  const restricted = ["pod-security.kubernetes.io/enforce=restricted", "pod-security.kubernetes.io/warn=restricted"];
  await api().kubectl(["label", "namespace", NAMESPACE, ...restricted]);
  await untilEstablished(api());
  await api().kubectl(["config", "set-context", "--current", "--namespace", NAMESPACE]);
});

const CLUSTER_WIDE = [
  "ClusterRole",
  "ClusterRoleBinding",
  "CustomResourceDefinition",
  "ValidatingAdmissionPolicy",
  "ValidatingAdmissionPolicyBinding",
];

/** As one would apply them, without doing it: defaults, validation and admission are the real ones. */
async function tryToApply(objects: readonly KubeObject[]): Promise<string> {
  const input = objects.map((object) => `---\n${stringify(object)}`).join("");
  return api().kubectl(["apply", "--dry-run=server", "--validate=strict", "--filename", "-"], { input });
}

describe.for(chosenOfMatrix())("with $name", ({ values }) => {
  let objects: readonly KubeObject[];
  beforeAll(async () => {
    objects = await render(api(), values);
  });

  test("helm lint reports nothing", async () => {
    const report = await api().helm(["lint", "--strict", CHART, "--values", "-"], { input: stringify(values) });
    expect(report).toContain("1 chart(s) linted, 0 chart(s) failed");
  });

  test("the API server accepts every object", async () => {
    const report = await tryToApply(objects);
    expect(report.trim().split("\n")).toHaveLength(objects.length);
  });

  test("every pod meets the restricted pod security standard, and only the operator's has a token", async () => {
    const pods = podsOf(objects);
    expect(pods.length).toBeGreaterThanOrEqual(4);
    const input = pods.map(({ object }) => `---\n${stringify(object)}`).join("");
    await api().kubectl(["create", "--dry-run=server", "--validate=strict", "--filename", "-"], { input });
    const withToken = pods.filter(({ spec }) => spec.automountServiceAccountToken).map(({ owner }) => owner);
    expect(withToken).toEqual([expect.stringMatching(/-operator$/)]);
  });

  test("no container can write to its image or gain privileges", async () => {
    const containers = podsOf(objects).flatMap((pod) => pod.containers);
    for (const container of containers)
      expect(container, container.name).toMatchObject({
        securityContext: { readOnlyRootFilesystem: true, allowPrivilegeEscalation: false, capabilities: { drop: ["ALL"] } },
        resources: { requests: { cpu: expect.anything(), memory: expect.anything() }, limits: { memory: expect.anything() } },
      });
  });

  test("every object that is not cluster-wide names its namespace", async () => {
    const without = objects.filter(({ metadata }) => metadata.namespace === undefined);
    expect(without.filter(({ kind }) => !CLUSTER_WIDE.includes(kind)).map(title)).toEqual([]);
  });

  test("no two objects share a name", async () => {
    const names = objects.map((object) => `${object.metadata.namespace ?? ""} ${title(object)}`);
    expect(new Set(names).size).toBe(names.length);
  });
});

test("the API server rejects a pod without the restricted settings", async () => {
  const input = stringify({
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: "p" },
    spec: { containers: [{ name: "c", image: "i" }] },
  });
  const creating = api().kubectl(["create", "--dry-run=server", "--filename", "-"], { input });
  await expect(creating).rejects.toThrow(/violates PodSecurity "restricted/);
});

test("releases whose namespaces and names join to the same text share nothing but people's rights", async () => {
  const values = stringify({ ...EXTERNAL_DATABASE, crds: { enabled: false }, watchNamespaces: ["team-a"] });
  const titlesOf = async (release: string, namespace: string) => {
    const text = await api().helm(["template", release, CHART, "--namespace", namespace, "--values", "-"], { input: values });
    return parseObjects(text).map(({ kind, metadata }) => `${kind} ${metadata.namespace ?? ""}/${metadata.name}`);
  };
  const first = await titlesOf("prod", "team");
  const second = await titlesOf("model-gateway", "team-prod");
  expect(second.filter((title) => first.includes(title))).toEqual([
    "ClusterRole /team-prod-model-gateway-edit",
    "ClusterRole /team-prod-model-gateway-view",
  ]);
});

test("a release's name that is cut between hyphens leaves none at its end", async () => {
  const kept = `model-gateway-${"a".repeat(24)}`;
  const text = await api().helm(["template", `${kept}--b`, CHART, "--values", "-"], { input: stringify(EXTERNAL_DATABASE) });
  expect(parseObjects(text).map(title)).toContain(`Service ${kept}`);
});

test("each template renders objects of one kind", async () => {
  const everything = MATRIX.find(({ name }) => name === "everything that watches it");
  const yaml = await renderText(api(), everything?.values ?? {});
  const kindsOf = new Map<string, Set<string>>();
  for (const part of yaml.split(/^---$/m)) {
    const source = /^# Source: (\S+)$/m.exec(part)?.[1];
    for (const { kind } of source === undefined ? [] : parseObjects(part))
      kindsOf.set(source ?? "", (kindsOf.get(source ?? "") ?? new Set()).add(kind));
  }
  expect(kindsOf.size).toBeGreaterThan(25);
  for (const [source, kinds] of kindsOf) expect([...kinds], source).toHaveLength(1);
});

test("the matrix uses every template", async () => {
  const yaml = await Promise.all(MATRIX.map(({ values }) => renderText(api(), values)));
  const used = new Set(
    yaml.flatMap((text) => [...text.matchAll(/^# Source: model-gateway\/(\S+)$/gm)].map((match) => match[1] ?? "")),
  );
  const files = await readdir(path.join(CHART, "templates"), { recursive: true });
  const templates = files.filter((file) => file.endsWith(".yaml") && file !== "validate.yaml").map((file) => `templates/${file}`);
  expect([...used].sort()).toEqual(templates.sort());
});

test("the notes show the base URL, a Model, an ApiKey and how to read the key", async () => {
  const report = await api().helm(["install", "gw", CHART, "--namespace", NAMESPACE, "--dry-run=server", "--values", "-"], {
    input: stringify({ postgres: { enabled: true }, publicBaseUrl: "https://gateway.example/" }),
  });
  const notes = report.slice(report.indexOf("NOTES:"));
  expect(notes).toContain("chat completions  https://gateway.example/v1\n");
  const manifests = [...notes.matchAll(/<<'END'\n([\s\S]*?)\n +END\n/g)].flatMap((match) => parseObjects(match[1] ?? ""));
  expect(manifests.map(({ kind }) => kind)).toEqual(["Model", "ApiKey"]);
  expect(notes).toContain("get secret my-key -o jsonpath='{.data.api-key}' | base64 -d");
  await api().kubectl(["apply", "--filename", path.join(CHART, "../../crds")]);
  await untilEstablished(api());
  expect(await tryToApply(manifests)).toContain("created (server dry run)");
});

test("the schema has every default value, each with a description", async () => {
  const schema: unknown = JSON.parse(await readFile(path.join(CHART, "values.schema.json"), "utf8"));
  const undescribed: string[] = [];
  function walk(value: unknown, path: string): void {
    if (typeof value !== "object" || value === null) return;
    if ("properties" in value && typeof value.properties === "object" && value.properties !== null) {
      const isClosed = "additionalProperties" in value && value.additionalProperties === false;
      // Other charts of an umbrella chart have values there as well.
      if (!isClosed && path !== "values.global") undescribed.push(`${path} is open`);
      for (const [name, property] of Object.entries(value.properties)) {
        const isGroup = typeof property === "object" && property !== null && "properties" in property;
        if (!isGroup && !("description" in property)) undescribed.push(`${path}.${name}`);
        walk(property, `${path}.${name}`);
      }
    }
  }
  walk(schema, "values");
  expect(undescribed).toEqual([]);
});
