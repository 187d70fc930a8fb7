import { expect, test } from "vitest";
import { readTraceCollector } from "../../../local/trace-collector.ts";

test.for([
  ["http://127.0.0.1:4318", { host: "127.0.0.1", port: 4318, percent: 100 }],
  ["http://collector.example/", { host: "collector.example", port: 80, percent: 100 }],
  ["", undefined],
  [undefined, undefined],
] as const)("spans for %s", ([address, collector]) => {
  expect(readTraceCollector(address)).toEqual(collector);
});

test.for(["https://collector.example", "http://collector.example/v1/traces", "collector:4318", "nonsense"])(
  "%s is rejected with a message",
  (address) => {
    expect(() => readTraceCollector(address)).toThrow("OTEL_EXPORTER_OTLP_ENDPOINT must be http://host:port");
  },
);
