import type { ServerResponse } from "node:http";
import { parseDirective } from "../../../local/simulator/directive.ts";
import { parseTranscriptionRequest } from "../../../local/simulator/transcription/request.ts";
import { transcription, transcriptionEvents } from "../../../local/simulator/transcription/response.ts";
import type { TestBackend, TestModelOfMany } from "../stacks/backend-manifests.ts";
import { askForm, postForm, type FormAnswer, type FormRequest } from "../dashboard/form-requests.ts";
import type { FormPart } from "../dashboard/forms.ts";
import type { TestProduct } from "../stacks/product.ts";
import { backendAt, useScriptedModels } from "./scripted-models.ts";

const TRANSCRIPTIONS = "/v1/audio/transcriptions";

type TranscriptionServer = (response: ServerResponse) => void;

/** Of a second, of the Models that charge minutes. */
export const EACH_NANO_USD = 1_000_000n;

interface Received {
  path: string;
  contentType: string;
  bytes: Buffer;
}

type Asked = Partial<FormRequest>;

export interface TranscriptionModels {
  stack(): TestProduct;
  /** What the server of this name got last. */
  received: Map<string, Received>;
  /** From now on the server `scripted` does this. */
  script(server: TranscriptionServer): void;
  /** @returns the answer as soon as it begins. */
  ask(form: readonly FormPart[] | Buffer, options?: Asked): Promise<{ response: Response; requestId: string }>;
  /** @returns the whole answer. */
  post(form: readonly FormPart[] | Buffer, options?: Asked): Promise<FormAnswer>;
}

/** The product with Models of transcriptions, for all tests of a file. */
export function useTranscriptionModels(): TranscriptionModels {
  const received = new Map<string, Received>();
  let answer: TranscriptionServer = () => {};
  const stack = useScriptedModels(async (request, response, _body, bytes) => {
    const [, name = ""] = (request.url ?? "").split("/");
    const contentType = request.headers["content-type"] ?? "";
    received.set(name, { path: request.url ?? "", contentType, bytes });
    if (name === "scripted") return answer(response);
    if (name === "failing")
      return void response.writeHead(500, { "content-type": "application/json" }).end('{"error":{"message":"out of memory"}}');
    await simulate(response, bytes, contentType);
  }, transcriptionModels);

  return {
    stack,
    received,
    script(server) {
      answer = server;
    },
    ask: (form, options) => askForm(stack(), form, { path: TRANSCRIPTIONS, ...options }),
    post: (form, options) => postForm(stack(), form, { path: TRANSCRIPTIONS, ...options }),
  };
}

async function simulate(response: ServerResponse, bytes: Buffer, contentType: string): Promise<void> {
  const asked = await parseTranscriptionRequest(bytes, contentType);
  const directive = parseDirective(asked.prompt);
  if (asked.wantsStream) {
    response.writeHead(200, { "content-type": "text/event-stream" });
    for (const { data } of transcriptionEvents(asked, directive)) response.write(`data: ${data}\n\n`);
    response.end();
    return;
  }
  const { type, body } = transcription(asked, directive);
  response.writeHead(200, { "content-type": type }).end(body);
}

function transcriptionModels(url: string): TestModelOfMany[] {
  return [
    model("simulated", [backendAt(url, "simulated")]),
    model("scripted", [backendAt(url, "scripted")]),
    model("falls-back", [
      backendAt(url, "failing"),
      { ...backendAt(url, "simulated"), name: "second", upstreamModel: "second-model", priority: 1 },
    ]),
    { ...model("by-tokens", [backendAt(url, "scripted")]), pricing: { inputPerMillion: "600.00", outputPerMillion: "1000.00" } },
    { name: "chat-only", backends: [backendAt(url, "simulated")] },
  ];
}

function model(name: string, backends: TestBackend[]): TestModelOfMany {
  return { name, interfaces: ["Transcription"], pricing: { perMinute: "0.06" }, backends };
}
