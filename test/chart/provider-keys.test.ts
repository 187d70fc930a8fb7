import { expect, test } from "vitest";
import * as z from "zod";
import { useHelm } from "../support/kube/use-helm.ts";
import { NAME, only, render, title, type KubeObject, EXTERNAL_DATABASE } from "./harness-render.ts";

/** The secret that opens accounts' provider keys goes to the operator and to nobody else (S59). */
const helm = useHelm();
const SECRET = `${NAME}-provider-keys`;

const withSecret = (objects: readonly KubeObject[]) =>
  objects.filter((object) => JSON.stringify(object).includes("PROVIDER_KEYS_SECRET")).map(title);

test("without the setting no secret is made, and no program takes provider keys", async () => {
  const objects = await render(helm(), EXTERNAL_DATABASE);
  expect(withSecret(objects)).toEqual([]);
  expect(objects.map(title)).not.toContain(`Secret ${SECRET}`);
});

test("with it the chart makes 32 random bytes, for the operator alone (S59)", async () => {
  const objects = await render(helm(), { ...EXTERNAL_DATABASE, providerKeys: { enabled: true } });
  expect(withSecret(objects)).toEqual([`Deployment ${NAME}-operator`]);
  const secret = z.object({ immutable: z.literal(true), data: z.object({ secret: z.string() }) });
  const { data } = secret.parse(only(objects, "Secret", SECRET));
  expect(Buffer.from(Buffer.from(data.secret, "base64").toString(), "base64")).toHaveLength(32);
});

test("a Secret of the administrator's own takes its place", async () => {
  const providerKeys = { enabled: true, existingSecret: "own", key: "value" };
  const objects = await render(helm(), { ...EXTERNAL_DATABASE, providerKeys });
  expect(objects.map(title)).not.toContain(`Secret ${SECRET}`);
  const operator = JSON.stringify(only(objects, "Deployment", `${NAME}-operator`));
  expect(operator).toContain('"secretKeyRef":{"name":"own","key":"value"}');
});
