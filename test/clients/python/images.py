"""Makes images with OpenAI's client, and prints what was seen, as one line of JSON.

Address and key come from the environment, the model from the first argument.
"""

import base64
import json
import sys

import openai


def failure(send, **options):
    try:
        send(**options)
    except openai.APIStatusError as error:
        return {"kind": type(error).__name__, "status": error.status_code, "param": error.param}
    return None


def edits(client, model, made):
    """Of the pictures that were made: one, and two with a mask."""
    files = [(f"{index}.png", base64.b64decode(each.b64_json), "image/png") for index, each in enumerate(made.data)]
    one = client.images.edit(model=model, image=files[0], prompt="Give it a hat", quality="low")
    several = client.images.edit(
        model=model,
        image=files,
        mask=files[0],
        prompt="Give it a hat",
        n=2,
        size="1024x1024",
        quality="high",
        input_fidelity="high",
        output_format="png",
        user="u-1",
    )
    return [
        {
            "pictures": [base64.b64decode(each.b64_json)[:8].hex() for each in edit.data],
            "tokens": edit.usage.input_tokens_details.image_tokens,
        }
        for edit in (one, several)
    ]


def main(model):
    client = openai.OpenAI(max_retries=0)
    made = client.images.generate(model=model, prompt="A cat on a roof", n=2, size="1024x1024", quality="high")
    urls = client.images.generate(model=model, prompt="A cat on a roof", quality="low", response_format="url")
    seen = {
        "pictures": [base64.b64decode(each.b64_json)[:8].hex() for each in made.data],
        "tokens": made.usage.output_tokens,
        "urls": [each.url for each in urls.data],
        "edits": edits(client, model, made),
        "streamed_edit": failure(client.images.edit, prompt="Give it a hat", model=model, image=("a.png", b"a"), stream=True),
        "empty_edit": failure(client.images.edit, prompt="Give it a hat", model=model, image=("a.png", b"")),
        "many": failure(client.images.generate, model=model, prompt="A cat", n=11),
        "stream": failure(client.images.generate, model=model, prompt="A cat", stream=True),
        "unknown": failure(client.images.generate, model="modelx-chat", prompt="A cat"),
    }
    print(json.dumps(seen))


main(sys.argv[1])
