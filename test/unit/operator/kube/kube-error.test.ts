import { expect, test } from "vitest";
import { toKubeError } from "../../../../operator/kube/kube-error.ts";

test.for([
  {
    name: "with a Status",
    code: 409,
    body: { reason: "AlreadyExists", message: 'secrets "a" already exists' },
    message: 'The Kubernetes API answered 409 AlreadyExists: secrets "a" already exists',
  },
  {
    name: "for a kind that is not defined",
    code: 404,
    body: undefined,
    message: "The Kubernetes API answered 404: there is no such kind of resource; install its definition (crds.enabled)",
  },
  { name: "of a proxy", code: 502, body: undefined, message: "The Kubernetes API answered 502: without a Status" },
])("an answer $name is told in one sentence", ({ code, body, message }) => {
  expect(toKubeError(code, body).message).toBe(message);
});
