import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { cidrsVariable, matcherOf, parseCidr } from "../../../../runtime/address/cidr.ts";
import { createNames } from "../../../../operator/address/names.ts";
import { createAddressPolicy, type AddressPolicyOptions } from "../../../../operator/address/policy.ts";

const policyOf = (options: Partial<AddressPolicyOptions> = {}) =>
  createAddressPolicy({ allowPrivate: false, allowCidrs: [], allowNamespaces: [], ...options });

const PRIVATE = [
  "10.0.0.1",
  "172.16.0.1",
  "172.31.255.255",
  "192.168.1.1",
  "100.64.0.1",
  "198.18.0.1",
  "fc00::1",
  "fd12:3456::1",
];
const NEVER = [
  ["127.0.0.1", "127.255.255.255", "0.0.0.0", "::", "::1"],
  ["169.254.169.254", "169.254.0.1", "fe80::1", "fd00:ec2::254", "fd20:ce::254", "100.100.100.200", "168.63.129.16"],
  ["224.0.0.1", "255.255.255.255", "240.0.0.1", "ff02::1", "192.0.0.192", "5f00::1", "fec0::1"],
  // An IPv4 address in another form.
  ["::ffff:127.0.0.1", "::ffff:10.0.0.1", "::127.0.0.1", "64:ff9b::a00:1", "2002:7f00:1::", "2001:0:a00:1::"],
].flat();
const PUBLIC = ["8.8.8.8", "1.1.1.1", "172.15.255.255", "172.32.0.1", "100.128.0.1", "2606:4700::1111", "2a00:1450:4001::1"];

describe("an address", () => {
  test.for(PUBLIC)("%s is on the public internet", (address) => expect(policyOf().objection(address, [])).toBeNull());
  test.for([...PRIVATE, ...NEVER])("%s is blocked unless allowed", (address) => {
    expect(policyOf().objection(address, [])).toContain(`${address} is `);
    const length = address.includes(":") ? 128 : 32;
    expect(policyOf({ allowCidrs: [`${address}/${length}`] }).objection(address, [])).toBeNull();
  });
  test.for(PRIVATE)("%s is allowed with all private ones", (address) =>
    expect(policyOf({ allowPrivate: true }).objection(address, [])).toBeNull(),
  );
  test.for(NEVER)("%s is not allowed with the private ones", (address) =>
    expect(policyOf({ allowPrivate: true }).objection(address, [])).not.toBeNull(),
  );
  test("is not looked up at a name server, and is not judged again", () => {
    expect(policyOf().needsAddresses("10.0.0.1")).toBe(false);
    expect(policyOf().guardFor("8.8.8.8")).toBeNull();
  });
});

describe("a name", () => {
  test("is judged by all of its addresses", () => {
    expect(policyOf().objection("models.example", ["8.8.8.8", "2606:4700::1111"])).toBeNull();
    expect(policyOf().objection("models.example", ["8.8.8.8", "10.0.0.7"])).toBe(
      "models.example resolves to 10.0.0.7, a private address: a backend there must be allowed by the gateway's administrator, with operator.backends.allowCidrs in the chart's values",
    );
  });
  test("that does not resolve now is judged when it does, and by Envoy", () => {
    expect(policyOf().objection("models.example", [])).toBeNull();
    expect(policyOf().guardFor("models.example")?.shut).toEqual(expect.arrayContaining(["10.0.0.0/8", "127.0.0.0/8"]));
  });
  test.for(["localhost", "LOCALHOST", "chat.simulator.localhost"])("%s is this machine, whatever it resolves to", (host) => {
    expect(policyOf().needsAddresses(host)).toBe(false);
    expect(policyOf({ allowPrivate: true }).objection(host, ["8.8.8.8"])).toContain("a loopback address");
    expect(policyOf({ allowCidrs: ["127.0.0.0/8", "::1/128"] }).objection(host, [])).toBeNull();
  });
  test.for(["vllm.models.svc", "vllm.models.svc.cluster.local", "pod-0.vllm.models.svc"])(
    "%s belongs to a namespace that may be allowed",
    (host) => {
      expect(policyOf().objection(host, ["10.96.0.1"])).toContain("operator.backends.allowNamespaces (models)");
      expect(policyOf({ allowNamespaces: ["models"] }).objection(host, ["10.96.0.1"])).toBeNull();
      expect(policyOf({ allowNamespaces: ["model"] }).objection(host, ["10.96.0.1"])).not.toBeNull();
    },
  );
  test("of an allowed namespace does not resolve to this machine, nor to a cloud's credentials", () => {
    const policy = policyOf({ allowNamespaces: ["models"] });
    for (const address of ["127.0.0.1", "169.254.169.254"])
      expect(policy.objection("external.models.svc", [address])).not.toBeNull();
    expect(policy.guardFor("external.models.svc")?.shut).toEqual(expect.arrayContaining(["127.0.0.0/8", "169.254.0.0/16"]));
    expect(policy.guardFor("external.models.svc")?.shut).not.toContain("10.0.0.0/8");
  });
  test.for(["models.svc.evil.example", "vllm.models.svc.evil.example", "models.svc", "vllmmodels.example"])(
    "%s belongs to no namespace",
    (host) => expect(policyOf({ allowNamespaces: ["models"] }).objection(host, ["10.0.0.1"])).not.toBeNull(),
  );
});

test("Envoy gets the same rules as the operator, for any IPv4 address", () => {
  const policy = policyOf({ allowCidrs: ["10.1.0.0/16"] });
  const guard = policy.guardFor("models.example");
  const [isShut, isOpen] = [matcherOf(guard?.shut ?? []), matcherOf(guard?.open ?? [])];
  fc.assert(
    fc.property(fc.ipV4(), (address) => {
      expect(isShut(address) && !isOpen(address)).toBe(policy.objection("models.example", [address]) !== null);
    }),
  );
});

test.for(["10.0.0.0", "10.0.0.0/33", "10.0.0/8", "::/129", "models.example/8", "10.0.0.0/8x", "/8"])(
  "%s is not a range",
  (text) => {
    expect(() => parseCidr(text)).toThrow("such as 10.0.0.0/8");
    expect(cidrsVariable.safeParse(text).error?.issues[0]?.message).toContain("must be address ranges");
  },
);

test("names are resolved again when their answers are old, and keep their last one while no server answers", async () => {
  let nowMs = 0;
  let answer: readonly string[] | null = ["8.8.8.8"];
  const asked: string[] = [];
  const names = createNames({
    clock: { nowMs: () => nowMs },
    async lookup(name) {
      asked.push(name);
      if (answer === null) throw new Error("nobody answers");
      return answer;
    },
  });
  const resolve = async () => (await names.resolve(["models.example", "models.example"])).get("models.example");
  expect(await resolve()).toEqual(["8.8.8.8"]);
  answer = ["10.0.0.1"];
  expect(await resolve()).toEqual(["8.8.8.8"]);
  nowMs += 30_000;
  expect(await resolve()).toEqual(["10.0.0.1"]);
  answer = null;
  nowMs += 30_000;
  expect(await resolve()).toEqual(["10.0.0.1"]);
  expect(asked).toHaveLength(3);
  expect(await names.resolve([])).toEqual(new Map());
});

test("a name is missing if a server says so, and not if none answers", async () => {
  let nowMs = 0;
  let code = "EAI_AGAIN";
  const names = createNames({
    clock: { nowMs: () => nowMs },
    lookup: async () => await Promise.reject(Object.assign(new Error("no address"), { code })),
  });
  const missing = async () => {
    nowMs += 30_000;
    await names.resolve(["models.example"]);
    return [...names.missing()];
  };
  expect(await missing()).toEqual([]);
  code = "ENOTFOUND";
  expect(await missing()).toEqual(["models.example"]);
  code = "EAI_AGAIN";
  expect(await missing()).toEqual(["models.example"]);
});

test.for([
  [{}, "10.0.0.1", "10.0.0.1 is a private address"],
  [{}, "8.8.8.8", "allowed"],
  [{ allowNamespaces: ["team-a"] }, "10.0.0.1", "allowed"],
  [{ allowNamespaces: ["team-b"] }, "10.0.0.1", "10.0.0.1 is a private address: a backend there must be allowed"],
  [{ allowNamespaces: ["team-a"] }, "169.254.169.254", "169.254.169.254 is a link-local address"],
  [{ allowNamespaces: ["team-a"] }, "127.0.0.1", "127.0.0.1 is a loopback address"],
  [{ allowCidrs: ["10.0.0.0/8"] }, "10.0.0.1", "allowed"],
  [{ allowPrivate: true }, "10.0.0.1", "allowed"],
] as const)("a pod of a namespace is judged like its Services: %j %s", ([options, address, words]) => {
  expect(policyOf(options).objectionInside("team-a", address) ?? "allowed").toContain(words);
});
