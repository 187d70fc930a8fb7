import type { Caller } from "../auth/authenticate.ts";
import { requestIdHeaders } from "../headers.ts";
import * as reply from "../reply.ts";
import type { Reply } from "../reply.ts";
import type { Endpoint } from "../route/endpoint.ts";
import { describeBalance } from "./balance.ts";
import type { CurrentBalances } from "./current-balance.ts";
import { describeModels } from "./model-list.ts";
import type { Credit } from "../credit/credit.ts";
import type { AccountLoad } from "../load/account-load.ts";
import type { FreeRequests } from "../load/free-requests.ts";
import type { ResponseStore } from "../stored-responses/store.ts";
import type { World } from "../world/world.ts";
import { answerStoredResponse } from "./stored-response.ts";
import { describeRequestUsage } from "./request-usage.ts";
import { describeUsage, type UsageReport } from "./usage.ts";

/** Answers from the gateway itself, without an upstream. */
export interface Answers {
  json(requestId: string, value: unknown): reply.ImmediateAnswer;
  root(requestId: string): reply.ImmediateAnswer;
}

export function createAnswers({ publicBaseUrl }: { publicBaseUrl: string }): Answers {
  return {
    json: encodeAnswer,
    root: (requestId) =>
      encodeAnswer(requestId, {
        object: "gateway",
        chat_completions: { base_url: `${publicBaseUrl}/v1`, endpoint: `POST ${publicBaseUrl}/v1/chat/completions` },
        messages: { base_url: publicBaseUrl, endpoint: `POST ${publicBaseUrl}/v1/messages` },
        responses: { base_url: `${publicBaseUrl}/v1`, endpoint: `POST ${publicBaseUrl}/v1/responses` },
        embeddings: { base_url: `${publicBaseUrl}/v1`, endpoint: `POST ${publicBaseUrl}/v1/embeddings` },
        rerank: { base_url: publicBaseUrl, endpoint: `POST ${publicBaseUrl}/v1/rerank` },
        image_generation: { base_url: `${publicBaseUrl}/v1`, endpoint: `POST ${publicBaseUrl}/v1/images/generations` },
        speech: { base_url: `${publicBaseUrl}/v1`, endpoint: `POST ${publicBaseUrl}/v1/audio/speech` },
        transcription: { base_url: `${publicBaseUrl}/v1`, endpoint: `POST ${publicBaseUrl}/v1/audio/transcriptions` },
        models: `${publicBaseUrl}/v1/models`,
      }),
  };
}

export interface AnswerDeps {
  /** The page that lists the models. */
  modelsUrl: string;
  world: World;
  credit: Credit;
  currentBalances: CurrentBalances;
  readUsage: UsageReport;
  responses: ResponseStore;
  freeRequests: Pick<FreeRequests, "retrieve">;
  clock: { nowMs(): number };
}

export interface AnswerRouteInput {
  endpoint: Extract<Endpoint, { kind: "models" | "balance" | "usage" | "request_usage" | "stored_response" }>;
  caller: Caller;
  load: AccountLoad;
  requestId: string;
  deps: AnswerDeps;
}

/** `/v1/models`, `/v1/balance`, `/v1/usage` (S10, S29) and `/v1/responses/{id}`. All but the list of models query the database. */
export async function answerRoute({ endpoint, caller, load, requestId, deps }: AnswerRouteInput): Promise<Reply> {
  switch (endpoint.kind) {
    case "models":
      return reply.answerNow(
        encodeAnswer(
          requestId,
          describeModels({
            endpoint,
            key: caller.key,
            world: deps.world,
            modelsUrl: deps.modelsUrl,
            nowMs: deps.clock.nowMs(),
          }),
        ),
      );
    case "balance": {
      const { accountId } = caller.account;
      await deps.currentBalances.refresh(accountId);
      const account = deps.world.findAccount(accountId) ?? caller.account;
      return reply.answerNow(
        encodeAnswer(
          requestId,
          describeBalance({
            availableNanoUsd: deps.credit.availableNanoUsd(account),
            heldNanoUsd: deps.credit.heldNanoUsd(accountId),
          }),
        ),
      );
    }
    case "usage":
      return reply.answerNow(
        encodeAnswer(
          requestId,
          await describeUsage({ query: endpoint.query, key: caller.key, readUsage: deps.readUsage, nowMs: deps.clock.nowMs() }),
        ),
      );
    case "request_usage": {
      const { readUsage, clock } = deps;
      const input = { requestId: endpoint.id, key: caller.key, readUsage, nowMs: clock.nowMs() };
      return reply.answerNow(encodeAnswer(requestId, await describeRequestUsage(input)));
    }
    case "stored_response": {
      const noteSize = deps.freeRequests.retrieve(load);
      const body = await answerStoredResponse(endpoint, caller, deps.responses);
      noteSize(body.length);
      return reply.answerNow(encodeBody(requestId, body));
    }
  }
}

function encodeAnswer(requestId: string, value: unknown): reply.ImmediateAnswer {
  return encodeBody(requestId, Buffer.from(JSON.stringify(value)));
}

function encodeBody(requestId: string, body: Buffer): reply.ImmediateAnswer {
  return {
    status: 200,
    headers: { "content-type": "application/json", ...requestIdHeaders(requestId) },
    body,
    details: "gateway_answer",
  };
}
