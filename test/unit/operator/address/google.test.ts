import { describe, expect, test } from "vitest";
import { googleObjection, parseMetadataHost } from "../../../../operator/address/google.ts";

const google = { metadata: { host: "169.254.169.254", port: 80 }, hosts: ["vertex.internal.example", "127.0.0.1"] };
/** Where tokens of the identity at Google go (S49). */
const PATH = "/v1/projects/acme/locations/global/endpoints/openapi";

describe("a token of the gateway's identity at Google goes", () => {
  test.for([
    "https://aiplatform.googleapis.com",
    "https://europe-west1-aiplatform.googleapis.com",
    "https://EUROPE-WEST1-aiplatform.googleapis.com:443",
    "https://aiplatform.eu.rep.googleapis.com",
    "http://127.0.0.1:8080",
    "https://vertex.internal.example:8443",
  ])("to %s", (origin) => expect(googleObjection(google, origin + PATH)).toBeNull());

  test.for([
    "http://aiplatform.googleapis.com",
    "https://aiplatform.googleapis.com:8443",
    "https://aiplatform.googleapis.com.example",
    "https://aiplatform.googleapis.com.",
    "https://evil-aiplatform.googleapis.com.example",
    "https://evil.example/aiplatform.googleapis.com",
    "https://storage.googleapis.com",
    "https://1234.europe-west1-5678.prediction.vertexai.goog",
    "https://xvertex.internal.example",
    "http://169.254.169.254",
  ])("not to %s", (origin) => {
    const { hostname } = new URL(origin);
    expect(googleObjection(google, origin + PATH)).toContain(`url: ${hostname} is no address of Vertex AI`);
  });

  test("nowhere unless the administrator allows it", () => {
    expect(googleObjection(null, `https://aiplatform.googleapis.com${PATH}`)).toBe(
      "credential.google: must be allowed by the gateway's administrator, with operator.backends.google.enabled in the chart's values",
    );
  });
});

test.for<[text: string, address: ReturnType<typeof parseMetadataHost>]>([
  ["169.254.169.254", { host: "169.254.169.254", port: 80 }],
  ["metadata.google.internal:8080", { host: "metadata.google.internal", port: 8080 }],
  ["http://169.254.169.254", undefined],
  ["169.254.169.254:0", undefined],
  ["169.254.169.254:99999", undefined],
  ["user@host", undefined],
  ["host/path", undefined],
])("the metadata server %s is read as its host and port", ([text, address]) => {
  expect(parseMetadataHost(text)).toEqual(address);
});
