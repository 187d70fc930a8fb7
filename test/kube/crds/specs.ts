import fc from "fast-check";
import { EFFORTS, PROFILE_NAMES } from "../../../contract/profile.ts";

/** Mostly one of the good values, now and then one past the edge: a specification has many fields, and one spoils it. */
function mostly(good: readonly unknown[], other: readonly unknown[]) {
  return fc.oneof({ weight: 60, arbitrary: fc.constantFrom(...good) }, { weight: 1, arbitrary: fc.constantFrom(...other) });
}

const NOT_TEXT = [0, 1.5, true, [], {}] as const;

const names = mostly(
  ["m", "modelx-v4-pro", "vendor/acme:large", "A.b_c-9", "m".repeat(128)],
  ["", " ", "-m", "a b", "ä", "a\n", "m".repeat(129), ...NOT_TEXT],
);
const prices = mostly(
  ["0", "3", "0.30", "15.000000", "999999999.999999", "0.000001"],
  ["", ".5", "1.", "01", "-1", "+1", "3e2", "1,5", "0.0000001", "1000000000", " 1", "1\n", "999999999.9999999", ...NOT_TEXT],
);
const times = mostly(
  ["2027-01-31T00:00:00Z", "2027-01-31T23:59:59.999+02:00", "2028-02-29T12:00:00-11:30", "9999-12-31T23:59:59Z"],
  [
    "0001-01-01T00:00:00Z",
    "",
    "soon",
    "2027-01-31",
    "2027-01-31T00:00:00",
    "2027-02-29T00:00:00Z",
    "2027-01-31T24:00:00Z",
    "2027-01-31t00:00:00z",
    0,
  ],
);
const NO_DURATIONS = ["", "5", "s", "1d", "1.5s", "-5s", "1s1s1s1s1s", 5];
const connectTimeouts = mostly(
  ["100ms", "5s", "1m", "0m30s", "0h0m1s1ms", "60000ms"],
  ["99ms", "0s", "1m1ms", "99999h", ...NO_DURATIONS],
);
const overlaps = mostly(["0s", "1h30m", "720h", "99999ms"], ["720h1ms", "99999h", ...NO_DURATIONS]);
const NO_MINUTES = ["24:00", "8:30", "08:60", "08:30:00", "", 830];
const counts = mostly([1, 60, 200_000], [2 ** 53 - 1, 0, -1, 1.5, "1", true]);
const networks = mostly(
  ["203.0.113.7", "10.0.0.0/8", "0.0.0.0/0", "2001:db8::1", "2001:DB8::/32", "::/0"],
  ["", "10.1.2.3/8", "10.0.0.0/33", "10.0.0.0/08", "2001:db8::1/32", "::ffff:10.0.0.1", "fe80::1%eth0", "a.example", 7],
);
const origins = mostly(
  [
    "https://app.example.com",
    "http://localhost:5173",
    "http://203.0.113.7",
    "https://[::1]:8443",
    `https://${"a".repeat(63)}.example`,
  ],
  [
    "",
    "*",
    "null",
    "app.example.com",
    "https://app.example.com/",
    "https://App.example.com",
    "https://a.example:443",
    "http://a:80",
    "https://*.example.com",
    "https://a..b",
    "https://-a",
    "https://a:0",
    "ftp://a",
    "https://u@a",
    `https://${"a".repeat(300)}`,
    7,
  ],
);
const labels = mostly(["a", "primary", "b-2", "a".repeat(63)], ["", "-a", "a-", "A", "a.b", "a".repeat(64), ...NOT_TEXT]);
const secretNames = mostly(["provider", "a.b-c", "a".repeat(253)], ["", "Provider", "a_b", "-a", "a".repeat(254), ...NOT_TEXT]);
const secretKeys = mostly(["api-key", "a".repeat(253)], ["", "a".repeat(254), 1]);
const words = (most: number) => mostly(["x", "Ä words", "x".repeat(most)], ["x".repeat(most + 1), ...NOT_TEXT]);
const flags = mostly([true, false], ["true", 1]);

const NO_URLS = [
  "",
  "/v1",
  "models.example.com",
  "ftp://x/v1",
  "HTTP://x",
  "http:x",
  "http://",
  "http:///v1",
  "http://x y/",
  "http://x/a b",
  "http://x/%zz",
  String.raw`http://x\y`,
  "http://10.0.7/",
  "http://256.1.1.1",
  "http://1",
  "http://x.0x7f",
  "http://x:65536",
  "http://x:y",
  "http://user@x/",
  "http://u:p@x/v1",
  "http://x?",
  "http://x/v1?a=b",
  "http://x/#top",
  "http://x/v1/chat/completions/",
  "http://x/messages",
  `http://x/${"a".repeat(512)}`,
  "http://ä.example",
  0,
];
const HTTPS = ["https://models.example.com/base", "https://models.example.com./v%20/x", "https://x/v1/messagesx"];
const HTTP = ["http://a", "http://my_model:8000/v2/", "http://7b-model/base", "http://10.0.0.7:65535", "http://[::1]:8000/"];
const WITH_VERSION = ["http://x/v1", "https://x:/v1//"];

/** Every field but these may be left out. */
function object<T extends Record<string, fc.Arbitrary<unknown>>>(fields: T, requiredKeys: (keyof T & string)[]) {
  const whole = fc.record(fields, { requiredKeys });
  // Also without what it needs, with what there is not, and as something else.
  const broken = fc.oneof(
    fc.record(fields, { requiredKeys: [] }),
    whole.map((given) => ({ ...given, misspelt: 1 })),
    fc.constantFrom("text", 1),
  );
  return fc.oneof({ weight: 100, arbitrary: whole }, { weight: 1, arbitrary: broken });
}

const reference = object({ name: secretNames, key: secretKeys }, ["name"]);
const priceFields = {
  inputPerMillion: prices,
  cachedInputPerMillion: prices,
  cacheWritePerMillion: prices,
  outputPerMillion: prices,
};
const PRICES: ("inputPerMillion" | "outputPerMillion")[] = ["inputPerMillion", "outputPerMillion"];

const profile = object(
  {
    preset: mostly([...PROFILE_NAMES], ["", "other", 1]),
    files: flags,
    rejects: fc.array(mostly(["top_k", "seed", "stop"], ["other", 1]), { maxLength: 3 }),
    toolIds: mostly(["any", "openai40", "messages"], ["", "other"]),
    efforts: fc.dictionary(mostly([...EFFORTS], ["other"]).map(String), mostly(["low"], ["", 1]), { maxKeys: 3 }),
    maxStopSequences: mostly([1, 4, null], [0, -1, "4"]),
  },
  [],
);

const backendFields = {
  name: labels,
  protocol: mostly(["ChatCompletions", "Messages"], ["OpenAI", "", 1]),
  url: mostly([...HTTPS, ...HTTP], [...WITH_VERSION, ...NO_URLS]),
  upstreamModel: words(256),
  weight: mostly([1, 5, 1_000_000], [0, -1, 1_000_001, 0.5, "1"]),
  priority: mostly([0, 1, 15], [-1, 16, 0.5, "1"]),
  credentialRef: reference,
  credentialHeader: mostly(
    ["api-key", "authorization", "x-key"],
    ["", "Api-Key", "host", "x-envoy-a", "a".repeat(65), ...NOT_TEXT],
  ),
  apiVersion: mostly(["2024-10-21", "v1", "a".repeat(64)], ["", "-1", "a&b=c", "a b", "a".repeat(65), ...NOT_TEXT]),
  timeouts: object({ connect: connectTimeouts }, []),
  profile,
};
const { credentialRef: _reference, credentialHeader: _header, ...withoutKey } = backendFields;
const aws = object(
  {
    region: mostly(["us-east-1", "us-gov-west-1"], ["", "us", "US-EAST-1", "us-east-1a", ...NOT_TEXT]),
    service: mostly(["bedrock", "execute-api"], ["", "Bedrock", "a b", "a".repeat(65), ...NOT_TEXT]),
    secretRef: object({ name: secretNames }, ["name"]),
  },
  ["region"],
);
const oauth = object(
  {
    tokenUrl: mostly(["https://login.example.com/oauth2/token", "http://10.0.0.7:8080"], NO_URLS),
    clientId: mostly(["gateway", "a".repeat(256)], ["", "a b", "ä", "a".repeat(257), ...NOT_TEXT]),
    secretRef: reference,
    scopes: fc.array(mostly(["https://x/.default", "a"], ["", "a b", 1]), { maxLength: 3 }),
  },
  ["tokenUrl", "clientId", "secretRef"],
);
const google = object({}, []);
const credential = fc.oneof(
  { weight: 8, arbitrary: object({ aws }, ["aws"]) },
  { weight: 8, arbitrary: object({ oauth }, ["oauth"]) },
  { weight: 8, arbitrary: object({ google }, ["google"]) },
  { weight: 1, arbitrary: object({ aws, google, oauth }, []) },
);
const serverNames = mostly(
  ["models.internal", "10.0.0.7", "::1", "a".repeat(253)],
  ["", "a b", "a,b", "ä", "a".repeat(254), ...NOT_TEXT],
);
const tls = object({ serverName: serverNames, caSecretRef: reference }, []);
const BACKEND: ("name" | "protocol" | "url")[] = ["name", "protocol", "url"];

const backend = fc.oneof(
  { weight: 10, arbitrary: object(backendFields, BACKEND) },
  { weight: 5, arbitrary: object({ ...withoutKey, credential }, [...BACKEND, "credential"]) },
  { weight: 1, arbitrary: object({ ...backendFields, credential }, BACKEND) },
  { weight: 5, arbitrary: object({ ...backendFields, url: mostly(HTTPS, HTTP), tls }, BACKEND) },
  {
    weight: 5,
    arbitrary: object(
      { ...backendFields, protocol: mostly(["ChatCompletions"], ["Messages"]), url: mostly(WITH_VERSION, NO_URLS) },
      BACKEND,
    ),
  },
);

export const modelSpecs = object(
  {
    modelName: names,
    aliases: mostly([[], ["other"], ["other", "an.other"]], [["modelx-v4-pro"], ["m"], ["a", "a"], ["a b"], "other"]),
    displayName: mostly(["X", "Ä words", "x".repeat(128)], ["", "x".repeat(129), ...NOT_TEXT]),
    description: mostly(["x", "x".repeat(1024)], ["", "x".repeat(1025), ...NOT_TEXT]),
    capabilities: mostly(
      [[], ["Tools"], ["StructuredOutputs", "Reasoning", "Files", "Images", "Tools"]],
      [["Tools", "Tools"], ["tools"], "Tools"],
    ),
    suspended: flags,
    interfaces: mostly(
      [["Messages"], ["ChatCompletions", "Messages"], ["Responses", "Messages", "ChatCompletions"]],
      [[], ["Messages", "Messages"], ["Completions"], "Messages"],
    ),
    timeouts: object(
      {
        connect: connectTimeouts,
        firstByte: mostly(["100ms", "30s", "1h"], ["99ms", "1h1ms", "", 30, "1d"]),
        idle: mostly(["5m", "59m60s"], ["0s", "2h", 5]),
        whole: mostly(["1s", "24h"], ["999ms", "24h1ms", "-1s"]),
      },
      [],
    ),
    streaming: object(
      { keepAlive: mostly(["1s", "15s", "1h", "59m60s"], ["999ms", "0s", "1h1ms", "1d", "-1s", "", 15, true]) },
      [],
    ),
    guardrail: object(
      {
        url: mostly([...HTTPS, ...HTTP, ...WITH_VERSION], NO_URLS),
        model: words(256),
        credentialRef: reference,
        timeout: mostly(["100ms", "2s", "5s"], ["99ms", "5s1ms", "1d", "", 2]),
        onFailure: mostly(["Refuse", "Allow"], ["refuse", "", 1]),
        check: mostly([["Requests"], ["Answers"], ["Requests", "Answers"]], [[], ["Answers", "Answers"], ["answers"], "Answers"]),
        streamWindow: object(
          {
            characters: mostly([100, 2_000, 100_000], [99, 100_001, "500", 1.5]),
            time: mostly(["100ms", "30s"], ["99ms", "31s", 1]),
          },
          [],
        ),
      },
      ["url"],
    ),
    limits: object({ contextWindow: mostly([200_000, 2 ** 53 - 1], [5, 0, "1"]), maxOutputTokens: counts }, []),
    pricing: object(
      {
        currency: mostly(["USD"], ["EUR", "usd", 1]),
        ...priceFields,
        schedule: fc.array(
          fc.oneof(
            { weight: 8, arbitrary: scheduled(["from"]) },
            { weight: 8, arbitrary: scheduled(["daily"]) },
            { weight: 1, arbitrary: scheduled([]) },
          ),
          { maxLength: 2 },
        ),
      },
      PRICES,
    ),
    cost: object({ ...priceFields }, PRICES),
    deprecation: object(
      {
        deprecatedTime: mostly(["2026-12-31T23:59:59Z"], ["2029-01-01T00:00:00Z", "soon"]),
        sunsetTime: times,
        replacement: names,
        message: words(512),
      },
      [],
    ),
    backends: fc.oneof(
      { weight: 20, arbitrary: fc.uniqueArray(backend, { minLength: 1, maxLength: 2, selector: nameOf }) },
      { weight: 1, arbitrary: fc.array(backend, { maxLength: 3 }) },
    ),
  },
  ["modelName", "pricing", "backends"],
);

function nameOf(given: unknown): unknown {
  return typeof given === "object" && given !== null && "name" in given ? given.name : given;
}

function scheduled(required: ("from" | "daily")[]) {
  const daily = object(
    { from: mostly(["00:00", "08:30"], NO_MINUTES), until: mostly(["23:59", "06:00"], ["08:30", ...NO_MINUTES]) },
    ["from", "until"],
  );
  return object({ from: times, daily, ...priceFields }, [...required, ...PRICES]);
}

export const apiKeySpecs = object(
  {
    account: labels,
    displayName: words(128),
    description: words(256),
    project: words(64),
    disabled: flags,
    expiresAt: times,
    allowedModels: fc.array(names, { maxLength: 3 }),
    allowedAddresses: fc.array(networks, { maxLength: 3 }),
    allowedOrigins: fc.array(origins, { maxLength: 3 }),
    promptLog: object({ retentionDays: mostly([1, 7, 30], [0, 31, 1.5, "7"]) }, []),
    spendLimit: object({ amount: prices, window: mostly(["Day", "Month"], ["Total", "", 1]) }, ["amount", "window"]),
    rateLimits: object({ requestsPerMinute: counts, tokensPerMinute: counts, concurrentRequests: counts }, []),
    secretRef: reference,
    rotation: object({ generation: mostly([0, 1, 7], [-1, 0.5, "1"]), overlap: overlaps }, ["generation"]),
  },
  ["account"],
);
