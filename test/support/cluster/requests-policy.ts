const NAME = "requests-of-a-small-node";
const API = "admissionregistration.k8s.io/v1beta1";

/**
 * Lets pods request next to nothing. The node has the machine's few processors, and test files install releases side by
 * side: with what the chart requests, their pods would wait for each other, on some machines for ever.
 */
export function requestsPolicy(): object[] {
  const rule = { apiGroups: [""], apiVersions: ["v1"], operations: ["CREATE"], resources: ["pods"] };
  return [
    {
      apiVersion: API,
      kind: "MutatingAdmissionPolicy",
      metadata: { name: NAME },
      spec: {
        matchConstraints: { resourceRules: [rule] },
        failurePolicy: "Fail",
        reinvocationPolicy: "Never",
        mutations: [{ patchType: "ApplyConfiguration", applyConfiguration: { expression: expression() } }],
      },
    },
    {
      apiVersion: API,
      kind: "MutatingAdmissionPolicyBinding",
      metadata: { name: NAME },
      spec: { policyName: NAME },
    },
  ];
}

/** CEL that leaves all else of a pod as it is. */
function expression(): string {
  const each = (list: "containers" | "initContainers") => `object.spec.?${list}.orValue([]).map(container, Object.spec.${list}{
    name: container.name,
    resources: Object.spec.${list}.resources{ requests: {"cpu": "1m", "memory": "1Mi"} }
  })`;
  return `Object{ spec: Object.spec{ containers: ${each("containers")}, initContainers: ${each("initContainers")} } }`;
}
