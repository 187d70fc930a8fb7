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
import type { ErrorReader } from "../../protocol/upstream-error.ts";
import type { Translation, TranslationInput } from "../translation.ts";
import { errorReader } from "./error-reader.ts";
import { refusePriceModifiers } from "./price-modifiers.ts";

/** Interfaces whose answers are JSON. */
type WholeInterface = Exclude<InputInterface, "speech" | "transcription">;

/**
 * A request of an input interface and its answer: every byte passes unchanged, except for the model's name. The request is checked
 * before, when it is measured (meter/input-size.ts).
 */
export function createInputPassthrough(client: WholeInterface, input: TranslationInput): Translation {
  const { body, backend, model } = input;
  refusePriceModifiers(body);
  const { upstreamModel } = backend;
  const asked = body.member("model");
  const name = typeof asked === "string" ? asked : model.name;
  const readAnswer = READERS[client](body, errorReader(client, input));
  return {
    ...sentTo(client, { body, backend }),
    dropped: [],
    wantsStream: false,
    response(received, meter) {
      const {
        outline,
        edits,
        inputTokens,
        units,
        made,
        outputTokens = made === undefined ? 0 : undefined,
      } = readAnswer(received);
      meter.report({ inputTokens, outputTokens, units, made });
      if (name === upstreamModel && edits === undefined) return received;
      return editMembers(received, { ...(name !== upstreamModel && { model: replace(name) }), ...edits }, outline);
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
const READERS: Readonly<Record<WholeInterface, (body: RequestBody, reader: ErrorReader) => (answer: Buffer) => InputAnswer>> = {
  embeddings: (body, reader) => vectorReader(inputCount(body), reader),
  rerank: (body, reader) => rankingReader(documentCount(body), reader),
  image_generation: (body, reader) => imageReader(imageCount(body), reader),
};

/** Separate from the request's body, which it would retain. */
function vectorReader(inputs: number, reader: ErrorReader): (answer: Buffer) => InputAnswer {
  return (answer) => readEmbeddingsAnswer(answer, inputs, reader);
}

function rankingReader(documents: number, reader: ErrorReader): (answer: Buffer) => InputAnswer {
  return (answer) => readRerankAnswer(answer, documents, reader);
}

function imageReader(images: number, reader: ErrorReader): (answer: Buffer) => InputAnswer {
  return (answer) => readImageAnswer(answer, images, reader);
}
