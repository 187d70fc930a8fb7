import { expect, test } from "vitest";
import { describeFailure } from "../../../../operator/apikey/failure.ts";
import { KubeError, KubeUnansweredError } from "../../../../operator/kube/kube-error.ts";
import { kubeObjectSchema } from "../../../../operator/kube/object.ts";

const object = kubeObjectSchema.parse({
  metadata: { name: "new", namespace: "team-a", uid: "1", resourceVersion: "1", generation: 1 },
});

test.for([
  {
    name: "the API server refuses",
    error: new KubeError(422, { reason: "Invalid", message: "metadata.name is too long" }),
    message: "The Kubernetes API answered 422 Invalid: metadata.name is too long",
  },
  {
    name: "the operator lacks a right",
    error: new KubeError(403, {
      reason: "Forbidden",
      message: 'secrets is forbidden: User "system:serviceaccount:a:b" cannot create resource "secrets" in API group ""',
    }),
    message:
      'The Kubernetes API answered 403 Forbidden: secrets is forbidden: User "system:serviceaccount:a:b" cannot create resource "secrets" in API group ""; "helm upgrade" restores the operator\'s Role in a namespace that was recreated',
  },
  {
    name: "the namespace's quota is used up",
    error: new KubeError(403, { reason: "Forbidden", message: 'secrets "new" is forbidden: exceeded quota: objects' }),
    message: 'The Kubernetes API answered 403 Forbidden: secrets "new" is forbidden: exceeded quota: objects',
  },
  {
    name: "the API server does not answer",
    error: new KubeUnansweredError("no answer within 15000 ms", {}),
    message: "The Kubernetes API cannot be used at the moment: no answer within 15000 ms",
  },
  {
    name: "Postgres is away",
    error: Object.assign(new Error("connect ECONNREFUSED 10.1.2.3:5432"), { code: "ECONNREFUSED" }),
    message: "the ledger's database cannot be used at the moment; the operator's log says why",
  },
  {
    name: "the operator has a bug",
    error: new TypeError("cannot read a value of 10.1.2.3"),
    message: "the operator failed; its log says why",
  },
])("an ApiKey that cannot be fulfilled states the part that failed: $name", ({ error, message }) => {
  const description = describeFailure(object, error, 0);
  expect(description?.message).toBe(`${message}; the operator keeps trying`);
});
