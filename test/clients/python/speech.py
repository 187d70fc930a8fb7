"""Reads texts aloud with OpenAI's client, and prints what was seen, as one line of JSON.

Address and key come from the environment, the model from the first argument.
"""

import json
import sys

import httpx
import openai

TEXT = "Good morning"


def failure(client, **options):
    try:
        client.audio.speech.create(voice="alloy", **options)
    except openai.APIStatusError as error:
        return {"kind": type(error).__name__, "status": error.status_code, "param": error.param}
    return None


def cut(client, model):
    """The class of what is raised for sound whose server breaks off."""
    try:
        client.audio.speech.create(model=model, voice="alloy", input="[[sim chunk-ms=200 reset-after=3]] " + TEXT)
    except (openai.APIError, httpx.HTTPError) as error:
        return type(error).__name__
    return None


def main(model):
    client = openai.OpenAI(max_retries=0)
    whole = client.audio.speech.create(model=model, voice="alloy", input=TEXT, response_format="wav").content
    with client.audio.speech.with_streaming_response.create(
        model=model, voice={"id": "voice_1"}, input=TEXT, speed=1.25, instructions="Whisper."
    ) as speech:
        pieces = [len(piece) for piece in speech.iter_bytes(4096)]
    with client.audio.speech.with_streaming_response.create(
        model=model, voice="alloy", input=TEXT, stream_format="sse"
    ) as speech:
        lines = [line for line in speech.iter_lines() if line.startswith("data: ")]
    seen = {
        "whole": whole[:4].decode(),
        "bytes": len(whole),
        "pieces": len(pieces),
        "streamed": sum(pieces),
        "types": [json.loads(line[6:])["type"] for line in lines],
        "cut": cut(client, model),
        "unknown": failure(client, model="modelx-chat", input=TEXT),
        "empty": failure(client, model=model, input=""),
    }
    print(json.dumps(seen))


main(sys.argv[1])
