"""Asks for embeddings in each way that Python programs do, and prints what was seen, one line of JSON each.

Address and key come from the environment, the model from the first argument.
"""

import json
import sys

import openai
from langchain_openai import OpenAIEmbeddings

TEXTS = ["The cat sat on the mat.", "Une phrase française.", "猫"]


def embed(client, **options):
    answer = client.embeddings.create(**options)
    return {"vectors": [each.embedding for each in answer.data], "tokens": answer.usage.prompt_tokens}


def failure(client, **options):
    try:
        client.embeddings.create(**options)
    except openai.APIStatusError as error:
        return {"kind": type(error).__name__, "status": error.status_code, "param": error.param}
    return None


def main(model):
    client = openai.OpenAI(max_retries=0)
    seen = {
        "batch": embed(client, model=model, input=TEXTS, dimensions=8),
        "floats": embed(client, model=model, input=TEXTS, dimensions=8, encoding_format="float"),
        "ids": embed(client, model=model, input=[[1, 2, 3], [4]], dimensions=8),
        "empty": failure(client, model=model, input=["a", ""]),
        "unknown": failure(client, model="modelx-chat", input="a"),
        # It counts tokens itself and sends strings, as it does for servers other than OpenAI's.
        "langchain": OpenAIEmbeddings(model=model, dimensions=8, check_embedding_ctx_length=False).embed_documents(TEXTS),
    }
    print(json.dumps(seen))


main(sys.argv[1])
