"""Transcribes a recording with OpenAI's client, and prints what was seen, as one line of JSON.

Address and key come from the environment, the model from the first argument.
"""

import io
import json
import sys
import wave

import openai

RATE = 8_000


def recording(seconds):
    """A WAV file of silence."""
    file = io.BytesIO()
    with wave.open(file, "wb") as sound:
        sound.setnchannels(1)
        sound.setsampwidth(2)
        sound.setframerate(RATE)
        sound.writeframes(bytes(2 * RATE * seconds))
    return ("speech.wav", file.getvalue())


def failure(client, **options):
    try:
        client.audio.transcriptions.create(**options)
    except openai.APIStatusError as error:
        return {"kind": type(error).__name__, "status": error.status_code, "param": error.param}
    return None


def main(model):
    client = openai.OpenAI(max_retries=0)
    file = recording(10)
    raw = client.audio.transcriptions.with_raw_response.create(model=model, file=file, language="en", temperature=0.2)
    verbose = client.audio.transcriptions.create(
        model=model, file=file, response_format="verbose_json", timestamp_granularities=["word", "segment"]
    )
    stream = client.audio.transcriptions.create(model=model, file=file, stream=True)
    seen = {
        "text": raw.parse().text,
        "cost": raw.headers["x-gateway-cost"],
        "plain": client.audio.transcriptions.create(model=model, file=file, response_format="text"),
        "subtitles": client.audio.transcriptions.create(model=model, file=file, response_format="srt"),
        "duration": verbose.duration,
        "types": [event.type for event in stream],
        "english": client.audio.translations.create(model=model, file=file).text,
        "unknown": failure(client, model="modelx-chat", file=file),
        "empty": failure(client, model=model, file=("speech.wav", b"")),
    }
    print(json.dumps(seen))


main(sys.argv[1])
