import { expect, test } from "vitest";
import { kubeObjectSchema } from "../../../operator/kube/object.ts";

const metadata = { name: "m", uid: "u", resourceVersion: "1" };

test("an object without managed fields is read like any other: anyone who may patch it can clear them", () => {
  const object = kubeObjectSchema.parse({ metadata });
  expect(object).toEqual({ metadata: { ...metadata, namespace: "", generation: 0, finalizers: [] } });
});

test("managed fields, which are larger than all the rest, are not kept", () => {
  const { metadata: kept } = kubeObjectSchema.parse({ metadata: { ...metadata, managedFields: [{ manager: "kubectl" }] } });
  expect(kept.managedFields).toBeUndefined();
});
