"""Sends batches with OpenAI's and Anthropic's clients, and prints what was seen, as one line of JSON.

Addresses and keys come from the environment, the model from the first argument.
"""

import json
import sys
import time

import anthropic
import openai

DEADLINE_SECONDS = 60
QUESTION = {"role": "user", "content": "Good morning"}


def wait(find, is_over):
    """What `find` returns, once it is over."""
    deadline = time.monotonic() + DEADLINE_SECONDS
    while True:
        batch = find()
        if is_over(batch) or time.monotonic() > deadline:
            return batch
        time.sleep(0.2)


def by_openai(model):
    client = openai.OpenAI(max_retries=0)
    lines = [
        {
            "custom_id": name,
            "method": "POST",
            "url": "/v1/chat/completions",
            "body": {"model": body_model, "max_tokens": 20, "messages": [QUESTION]},
        }
        for name, body_model in [("first", model), ("second", model), ("wrong", "no-such-model")]
    ]
    file = client.files.create(purpose="batch", file="\n".join(map(json.dumps, lines)).encode())
    created = client.batches.create(
        input_file_id=file.id, endpoint="/v1/chat/completions", completion_window="24h", metadata={"job": "nightly"}
    )
    batch = wait(
        lambda: client.batches.retrieve(created.id),
        lambda found: found.status not in ("validating", "in_progress", "finalizing"),
    )
    answers = [json.loads(line) for line in client.files.content(batch.output_file_id).text.splitlines()]
    errors = [json.loads(line) for line in client.files.content(batch.error_file_id).text.splitlines()]
    deleted = client.files.delete(file.id).deleted
    try:
        client.files.retrieve(file.id)
    except openai.NotFoundError as error:
        gone = error.code
    return {
        "status": batch.status,
        "counts": batch.request_counts.model_dump(include={"total", "completed", "failed"}),
        "metadata": batch.metadata,
        "answered": [answer["custom_id"] for answer in answers],
        "usage": [answer["response"]["body"]["usage"] for answer in answers],
        "errors": [(error["custom_id"], error["response"]["status_code"]) for error in errors],
        "listed": created.id in [each.id for each in client.batches.list(limit=5)],
        "deleted": deleted,
        "gone": gone,
    }


def by_anthropic(model):
    client = anthropic.Anthropic(max_retries=0)
    batches = client.messages.batches
    created = batches.create(
        requests=[
            {"custom_id": name, "params": {"model": request_model, "max_tokens": 20, "messages": [QUESTION]}}
            for name, request_model in [("first", model), ("wrong", "no-such-model")]
        ]
    )
    batch = wait(lambda: batches.retrieve(created.id), lambda found: found.processing_status == "ended")
    results = list(batches.results(batch.id))
    listed = created.id in [each.id for each in batches.list(limit=5)]
    deleted = batches.delete(batch.id).type
    try:
        batches.retrieve(batch.id)
    except anthropic.NotFoundError as error:
        gone = error.status_code
    return {
        "counts": batch.request_counts.model_dump(include={"processing", "succeeded", "errored", "canceled", "expired"}),
        "results": [(result.custom_id, result.result.type) for result in results],
        "usage": [
            result.result.message.usage.model_dump(include={"input_tokens", "output_tokens"})
            for result in results
            if result.result.type == "succeeded"
        ],
        "listed": listed,
        "deleted": deleted,
        "gone": gone,
    }


def main(model):
    print(json.dumps({"openai": by_openai(model), "anthropic": by_anthropic(model)}))


main(sys.argv[1])
