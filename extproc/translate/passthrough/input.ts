import { EDITS_PATH, upstreamPath, type InputInterface } from "../../../contract/protocol.ts";
import { readEmbeddingsAnswer } from "../../protocol/embeddings/answer.ts";
import { inputCount } from "../../protocol/embeddings/input.ts";
import { readImageAnswer } from "../../protocol/image-generation/answer.ts";
import type { InputAnswer } from "../../protocol/input-answer.ts";
import type { RequestBody } from "../../protocol/json/request-body.ts";
import { editMembers, replace, write } from "../../protocol/json/splice.ts";
import { readRerankAnswer } from "../../protocol/rerank/answer.ts";
import { imageCount } from "../../protocol/image-generation/request.ts";
import { documentCount } from "../../protocol/rerank/request.ts";
import type { Translation, TranslationInput } from "../translation.ts";
import { refusePriceModifiers } from "./price-modifiers.ts";

/** Interfaces whose answers are JSON. */
type WholeInterface = Exclude<InputInterface, "speech" | "transcription">;

/**
 * A request of an input interface and its answer: every byte passes unchanged, except for the model's name. The request is checked
 * before, when it is measured (meter/input-size.ts).
 */
export function createInputPassthrough(client: WholeInterface, { body, backend, model }: TranslationInput): Translation {
  refusePriceModifiers(body);
  const { upstreamModel } = backend;
  const asked = body.member("model");
  const name = typeof asked === "string" ? asked : model.name;
  const readAnswer = READERS[client](body);
  return {
    ...sentTo(client, { body, backend }),
    dropped: [],
    wantsStream: false,
    response(received, meter) {
      const { inputTokens, units, made, outputTokens = made === undefined ? 0 : undefined, outline } = readAnswer(received);
      meter.report({ inputTokens, outputTokens, units, made });
      return name === upstreamModel ? received : editMembers(received, { model: replace(name) }, outline);
    },
    stream() {
      throw new Error(`${client} is never streamed`);
    },
  };
}

/** Only edits of images are forms. */
function sentTo(
  client: WholeInterface,
  { body, backend: { upstreamModel, protocol } }: Pick<TranslationInput, "body" | "backend">,
): Pick<Translation, "upstream" | "optional"> {
  const { form } = body;
  if (form === undefined)
    return { upstream: { path: upstreamPath(client, protocol), body: body.edit({ model: write(upstreamModel) }), headers: {} } };
  return {
    upstream: { path: EDITS_PATH, body: form.withModel(upstreamModel), headers: { "content-type": form.contentType } },
    optional: "edit images",
  };
}

/** How the answer to a request is read. A reader keeps nothing of the request but what it compares the answer with. */
const READERS: Readonly<Record<WholeInterface, (body: RequestBody) => (answer: Buffer) => InputAnswer>> = {
  embeddings: (body) => vectorReader(inputCount(body)),
  rerank: (body) => rankingReader(documentCount(body)),
  image_generation: (body) => imageReader(imageCount(body)),
};

/** Separate from the request's body, which it would retain. */
function vectorReader(inputs: number): (answer: Buffer) => InputAnswer {
  return (answer) => readEmbeddingsAnswer(answer, inputs);
}

function rankingReader(documents: number): (answer: Buffer) => InputAnswer {
  return (answer) => readRerankAnswer(answer, documents);
}

function imageReader(images: number): (answer: Buffer) => InputAnswer {
  return (answer) => readImageAnswer(answer, images);
}
