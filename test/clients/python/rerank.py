"""Asks for rankings with both of Cohere's clients, and prints what was seen, as one line of JSON.

Address and key come from the environment, the model from the first argument.
"""

import json
import os
import sys

import cohere

DOCUMENTS = ["Cars need fuel.", "What cats eat is meat.", "Clouds are water."]
QUERY = "What do cats eat?"


def ranked(answer):
    return {
        "order": [each.index for each in answer.results],
        "scores": [each.relevance_score for each in answer.results],
        "tokens": answer.meta.tokens.input_tokens,
    }


def failure(client, **options):
    try:
        client.rerank(**options)
    except cohere.core.ApiError as error:
        return {"kind": type(error).__name__, "status": error.status_code, "param": error.body["error"]["param"]}
    return None


def main(model):
    settings = {"api_key": os.environ["COHERE_API_KEY"], "base_url": os.environ["COHERE_BASE_URL"]}
    newer = cohere.ClientV2(**settings)
    older = cohere.Client(**settings)
    documents = older.rerank(model=model, query=QUERY, documents=[{"text": each} for each in DOCUMENTS], return_documents=True)
    seen = {
        "newer": ranked(newer.rerank(model=model, query=QUERY, documents=DOCUMENTS, top_n=2, max_tokens_per_doc=512)),
        "older": ranked(documents),
        "texts": [each.document.text for each in documents.results],
        "empty": failure(newer, model=model, query=QUERY, documents=[]),
        "unknown": failure(newer, model="modelx-chat", query=QUERY, documents=DOCUMENTS),
    }
    print(json.dumps(seen))


main(sys.argv[1])
