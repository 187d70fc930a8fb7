import { CommanderError } from "commander";
import { describe, expect, test } from "vitest";
import { createCommand, parseOptions } from "../../../local/options.ts";
import { mapUpstreams } from "../../../local/upstreams.ts";

/** What a mistake on the command line says. */
function mistake(...words: string[]): string {
  let text = "";
  const command = createCommand(() => {})
    .exitOverride()
    .configureOutput({ writeErr: (line) => (text += line) });
  expect(() => command.parse(words, { from: "user" })).toThrow(CommanderError);
  return text;
}

describe("the command line", () => {
  test("without flags serves the simulator on 8080 from .data", () => {
    expect(parseOptions([], {})).toStrictEqual({
      host: "127.0.0.1",
      port: 8080,
      dataDirectory: ".data",
      upstreams: {},
      workers: 1,
    });
  });

  test("accepts two dashes before the flags", () => {
    expect(parseOptions(["--", "--port", "0"], {}).port).toBe(0);
  });

  test("accepts a folder of manifests", () => {
    expect(parseOptions(["--manifests", "mine"], {}).manifestsDirectory).toBe("mine");
  });

  test("accepts a real server, its model and its key", () => {
    const words = ["--upstream-chat", "http://127.0.0.1:11434/v1/", "--upstream-model", "small", "--upstream-key", "k"];
    expect(parseOptions(words, {}).upstreams).toStrictEqual({
      chatUrl: "http://127.0.0.1:11434/v1",
      model: "small",
      key: "k",
    });
  });

  test("accepts a real server for Responses", () => {
    const words = ["--upstream-responses", "http://127.0.0.1:8000/v1"];
    expect(parseOptions(words, {}).upstreams).toStrictEqual({ responsesUrl: "http://127.0.0.1:8000/v1" });
  });

  test("reads the key from the environment, where no process list shows it", () => {
    expect(parseOptions([], { UPSTREAM_KEY: "k" }).upstreams).toStrictEqual({ key: "k" });
    expect(parseOptions(["--upstream-key", "flag"], { UPSTREAM_KEY: "k" }).upstreams.key).toBe("flag");
  });

  test("explains what is wrong with a port, a URL and a stray word", () => {
    expect(mistake("--port", "70000")).toContain("It must be a number from 1 to 65535");
    expect(mistake("--upstream-chat", "localhost:11434")).toContain("It must be an http or https URL");
    expect(mistake("--upstream-messages", "http://127.0.0.1:1/v1")).toContain("It must end before /v1");
    expect(mistake("--upstream-messages", "http://127.0.0.1:1/v1/messages")).toContain("It must end before /v1");
    expect(mistake("--upstream-chat", "http://127.0.0.1:1/v1/chat/completions")).toContain(
      "It must end before /chat/completions",
    );
    expect(mistake("--upstream-responses", "http://127.0.0.1:1/v1/responses")).toContain("It must end before /responses");
    expect(mistake("--upstream-model", "small")).toContain("add --upstream-chat, --upstream-messages or --upstream-responses");
    expect(mistake("--host", "everywhere")).toContain("It must be an IPv4 address");
    expect(mistake("stray")).toContain("too many arguments");
    expect(mistake("--workers", "0")).toContain("It must be a number from 1 to 64");
  });

  test("rejects a server's address that no Model could have", () => {
    expect(mistake("--upstream-chat", "http://user:pw@127.0.0.1:1/v1")).toContain("set the server's key in UPSTREAM_KEY");
    expect(mistake("--upstream-responses", "http://127.0.0.1:1/v1?api-version=1")).toContain("must not contain a query");
    expect(mistake("--upstream-messages", "http://127.0.0.1:1#x")).toContain("must not contain a query or a fragment");
  });

  test.for(["--data", "--manifests", "--upstream-model"])("rejects an empty %s, as of a variable that is not set", (flag) => {
    expect(mistake("--upstream-chat", "http://127.0.0.1:1/v1", flag, "")).toContain("It must not be empty.");
  });
});

describe("upstreams", () => {
  test("replace the four names in the manifests", () => {
    expect(mapUpstreams({}, "http://127.0.0.1:5")).toStrictEqual({
      "http://chat.simulator.localhost": { url: "http://127.0.0.1:5/v1" },
      "http://messages.simulator.localhost": { url: "http://127.0.0.1:5" },
      "http://responses.simulator.localhost": { url: "http://127.0.0.1:5/v1" },
      "http://embeddings.simulator.localhost": { url: "http://127.0.0.1:5/v1" },
      "http://rerank.simulator.localhost": { url: "http://127.0.0.1:5/v1" },
      "http://images.simulator.localhost": { url: "http://127.0.0.1:5/v1" },
      "http://speech.simulator.localhost": { url: "http://127.0.0.1:5/v1" },
      "http://transcription.simulator.localhost": { url: "http://127.0.0.1:5/v1" },
    });
  });

  test("the key and the model go to the given server, never to the simulator", () => {
    const given = { chatUrl: "https://models.example/v1", key: "k", model: "small" };
    expect(mapUpstreams(given, "http://127.0.0.1:5")).toStrictEqual({
      "http://chat.simulator.localhost": { url: "https://models.example/v1", upstreamModel: "small", credential: "k" },
      "http://messages.simulator.localhost": { url: "http://127.0.0.1:5" },
      "http://responses.simulator.localhost": { url: "http://127.0.0.1:5/v1" },
      "http://embeddings.simulator.localhost": { url: "http://127.0.0.1:5/v1" },
      "http://rerank.simulator.localhost": { url: "http://127.0.0.1:5/v1" },
      "http://images.simulator.localhost": { url: "http://127.0.0.1:5/v1" },
      "http://speech.simulator.localhost": { url: "http://127.0.0.1:5/v1" },
      "http://transcription.simulator.localhost": { url: "http://127.0.0.1:5/v1" },
    });
  });
});
