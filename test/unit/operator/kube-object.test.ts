import { expect, test } from "vitest";
import { kubeObjectSchema } from "../../../operator/kube/object.ts";

const metadata = { name: "m", uid: "u", resourceVersion: "1" };

test("an object without managed fields is read like any other: anyone who may patch it can clear them", () => {
  const object = kubeObjectSchema.parse({ metadata });
  expect(object).toEqual({ metadata: { ...metadata, namespace: "", generation: 0, finalizers: [] } });
});

test("what is not used of the metadata is not kept: anyone who may write one object can make it large", () => {
  const large = { managedFields: [{ manager: "kubectl" }], annotations: { note: "x".repeat(100) }, labels: { a: "b" } };
  const object = kubeObjectSchema.parse({ metadata: { ...metadata, ...large } });
  expect(object).toEqual({ metadata: { ...metadata, namespace: "", generation: 0, finalizers: [] } });
});
