import { expect, test } from "vitest";
import { explainSwallowedFlags } from "../../../local/swallowed-flags.ts";

const FLAGS = ["port", "data", "upstream-chat", "upstream-key"];

test.for([
  { typed: "npm start --port 1", words: [], environment: { npm_config_port: "1" }, meant: "--port 1" },
  {
    typed: "npm start --port 1, where npm consumed the flag alone",
    words: ["1"],
    environment: { npm_config_port: "true" },
    meant: "--port 1",
  },
  { typed: "npm start --port", words: [], environment: { npm_config_port: "true" }, meant: "--port …" },
  {
    typed: "npm start --port=1 --upstream-chat=http://a/v1",
    words: [],
    environment: { npm_config_port: "1", npm_config_upstream_chat: "http://a/v1" },
    meant: "--port 1 --upstream-chat http://a/v1",
  },
  {
    typed: "npm start --upstream-key secret",
    words: [],
    environment: { npm_config_upstream_key: "secret" },
    meant: "--upstream-key …",
  },
])("$typed is answered with the intended line", ({ words, environment, meant }) => {
  expect(explainSwallowedFlags(FLAGS, words, environment)).toMatch(
    new RegExp(`^npm consumed --.*: flags of the gateway follow two dashes, as in npm start -- ${meant}$`),
  );
});

test("flags that reached the gateway, and npm's own configuration, are not mistakes", () => {
  expect(explainSwallowedFlags(FLAGS, ["--port", "1"], { npm_config_registry: "x" })).toBeUndefined();
  expect(explainSwallowedFlags(FLAGS, ["--port", "2"], { npm_config_port: "1" })).toBeUndefined();
});
