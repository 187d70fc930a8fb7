"""Makes images with OpenAI's client, and prints what was seen, as one line of JSON.

Address and key come from the environment, the model from the first argument.
"""

import base64
import json
import sys

import openai


def failure(client, **options):
    try:
        client.images.generate(**options)
    except openai.APIStatusError as error:
        return {"kind": type(error).__name__, "status": error.status_code, "param": error.param}
    return None


def main(model):
    client = openai.OpenAI(max_retries=0)
    made = client.images.generate(model=model, prompt="A cat on a roof", n=2, size="1024x1024", quality="high")
    urls = client.images.generate(model=model, prompt="A cat on a roof", quality="low", response_format="url")
    seen = {
        "pictures": [base64.b64decode(each.b64_json)[:8].hex() for each in made.data],
        "tokens": made.usage.output_tokens,
        "urls": [each.url for each in urls.data],
        "many": failure(client, model=model, prompt="A cat", n=11),
        "stream": failure(client, model=model, prompt="A cat", stream=True),
        "unknown": failure(client, model="modelx-chat", prompt="A cat"),
    }
    print(json.dumps(seen))


main(sys.argv[1])
