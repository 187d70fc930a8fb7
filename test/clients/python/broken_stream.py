"""Reads a stream of each model with each official SDK, and prints as JSON what came and how it ended."""

import json
import sys

import anthropic
import openai

base_url, key, *models = sys.argv[1:]
sdks = ["openai", "openai-responses", "anthropic"]


def read(sdk, model):
    """Gives the text and the error of one stream."""
    text = ""
    error = None
    try:
        if sdk == "openai":
            client = openai.OpenAI(base_url=base_url + "/v1", api_key=key, max_retries=0)
            messages = [{"role": "user", "content": "Hello"}]
            for chunk in client.chat.completions.create(model=model, messages=messages, stream=True):
                text += chunk.choices[0].delta.content or ""
        elif sdk == "openai-responses":
            client = openai.OpenAI(base_url=base_url + "/v1", api_key=key, max_retries=0)
            for event in client.responses.create(model=model, input="Hello", stream=True):
                if event.type == "response.output_text.delta":
                    text += event.delta
        else:
            client = anthropic.Anthropic(base_url=base_url, api_key=key, max_retries=0)
            messages = [{"role": "user", "content": "Hello"}]
            with client.messages.stream(model=model, messages=messages, max_tokens=100) as stream:
                for piece in stream.text_stream:
                    text += piece
    except (openai.APIError, anthropic.APIError) as raised:
        error = {"type": type(raised).__name__, "message": str(raised)}
    return {"text": text, "error": error}


print(json.dumps({model: {sdk: read(sdk, model) for sdk in sdks} for model in models}))
