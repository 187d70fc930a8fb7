"""Holds the same short conversation through each Python client, and prints what was seen, one line of JSON each.

Takes the clients' names as arguments; addresses, key and model come from the environment, as each client reads them.
"""

import json
import os
import sys

SCRIPT = "Weather in Oslo? [[sim tool=get_weather arguments=%7B%22city%22%3A%22Oslo%22%7D]]"
PARAMETERS = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
RESULT = "four degrees"


def openai_sdk():
    import openai

    client, model = openai.OpenAI(), os.environ["OPENAI_MODEL"]
    tools = [{"type": "function", "function": {"name": "get_weather", "parameters": PARAMETERS}}]
    answer = client.chat.completions.create(model=model, messages=[user("Hello")], reasoning_effort="high")
    stream = client.chat.completions.create(
        model=model, messages=[user("Count to twenty.")], stream=True, stream_options={"include_usage": True}
    )
    chunks = list(stream)
    question = user(SCRIPT)
    asked = client.chat.completions.create(model=model, messages=[question], tools=tools).choices[0].message
    call = asked.tool_calls[0]
    result = {"role": "tool", "tool_call_id": call.id, "content": RESULT}
    said = client.chat.completions.create(model=model, messages=[question, asked, result], tools=tools)
    return {
        "text": answer.choices[0].message.content,
        "pieces": sum(1 for chunk in chunks if chunk.choices and chunk.choices[0].delta.content),
        "call": json.loads(call.function.arguments),
        "after": said.choices[0].message.content,
        "reasoning": answer.choices[0].message.reasoning_content,
        "usage": [answer.usage.prompt_tokens, answer.usage.completion_tokens],
        "streamed": [chunks[-1].usage.prompt_tokens, chunks[-1].usage.completion_tokens],
    }


def openai_sdk_responses():
    import openai

    client, model = openai.OpenAI(), os.environ["OPENAI_MODEL"]
    tools = [{"type": "function", "name": "get_weather", "parameters": PARAMETERS, "strict": False}]
    answer = client.responses.create(model=model, input="Hello", reasoning={"effort": "high", "summary": "auto"})
    with client.responses.stream(model=model, input="Count to twenty.") as stream:
        pieces = sum(1 for event in stream if event.type == "response.output_text.delta")
        streamed = stream.get_final_response().usage
    turns = [user(SCRIPT)]
    asked = client.responses.create(model=model, input=turns, tools=tools, include=["reasoning.encrypted_content"])
    call = next(item for item in asked.output if item.type == "function_call")
    result = {"type": "function_call_output", "call_id": call.call_id, "output": RESULT}
    said = client.responses.create(model=model, input=turns + asked.output + [result], tools=tools)
    thought = next(item for item in answer.output if item.type == "reasoning")
    return {
        "text": answer.output_text,
        "pieces": pieces,
        "call": json.loads(call.arguments),
        "after": said.output_text,
        "reasoning": "".join(part.text for part in thought.summary),
        "usage": [answer.usage.input_tokens, answer.usage.output_tokens],
        "streamed": [streamed.input_tokens, streamed.output_tokens],
    }


def anthropic_sdk():
    import anthropic

    client, model = anthropic.Anthropic(), os.environ["ANTHROPIC_MODEL"]
    settings = {"model": model, "max_tokens": 4096}
    tools = [{"name": "get_weather", "input_schema": PARAMETERS}]
    answer = client.messages.create(
        messages=[user("Hello")], thinking={"type": "enabled", "budget_tokens": 1024}, **settings
    )
    with client.messages.stream(messages=[user("Count to twenty.")], **settings) as stream:
        pieces = len(list(stream.text_stream))
        streamed = stream.get_final_message().usage
    question = user(SCRIPT)
    asked = client.messages.create(messages=[question], tools=tools, **settings)
    call = next(block for block in asked.content if block.type == "tool_use")
    result = {"type": "tool_result", "tool_use_id": call.id, "content": RESULT}
    turns = [question, {"role": "assistant", "content": asked.content}, {"role": "user", "content": [result]}]
    said = client.messages.create(messages=turns, tools=tools, **settings)
    by_type = {block.type: block for block in answer.content}
    return {
        "text": by_type["text"].text,
        "pieces": pieces,
        "call": call.input,
        "after": said.content[0].text,
        "reasoning": by_type["thinking"].thinking,
        "usage": [answer.usage.input_tokens, answer.usage.output_tokens],
        "streamed": [streamed.input_tokens, streamed.output_tokens],
    }


def langchain_openai():
    from langchain_openai import ChatOpenAI

    return langchain(ChatOpenAI(model=os.environ["OPENAI_MODEL"], stream_usage=True))


def langchain_anthropic():
    from langchain_anthropic import ChatAnthropic

    return langchain(ChatAnthropic(model=os.environ["ANTHROPIC_MODEL"], max_tokens=4096))


def langchain(model):
    from langchain_core.messages import HumanMessage, ToolMessage
    from langchain_core.tools import tool

    @tool
    def get_weather(city: str) -> str:
        """Weather of a city."""
        return RESULT

    answer = model.invoke("Hello")
    chunks = list(model.stream("Count to twenty."))
    whole = chunks[0]
    for chunk in chunks[1:]:
        whole += chunk
    bound = model.bind_tools([get_weather])
    question = HumanMessage(SCRIPT)
    asked = bound.invoke([question])
    call = asked.tool_calls[0]
    said = bound.invoke([question, asked, ToolMessage(RESULT, tool_call_id=call["id"])])
    return {
        "text": answer.text,
        "pieces": sum(1 for chunk in chunks if chunk.text),
        "call": call["args"],
        "after": said.text,
        "reasoning": None,
        "usage": [answer.usage_metadata["input_tokens"], answer.usage_metadata["output_tokens"]],
        "streamed": [whole.usage_metadata["input_tokens"], whole.usage_metadata["output_tokens"]],
    }


def litellm_openai():
    return litellm_client("openai/" + os.environ["OPENAI_MODEL"])


def litellm_anthropic():
    return litellm_client("anthropic/" + os.environ["ANTHROPIC_MODEL"])


def litellm_client(model):
    import litellm

    litellm.suppress_debug_info = True
    tools = [{"type": "function", "function": {"name": "get_weather", "parameters": PARAMETERS}}]
    answer = litellm.completion(model=model, messages=[user("Hello")])
    chunks = list(
        litellm.completion(
            model=model, messages=[user("Count to twenty.")], stream=True, stream_options={"include_usage": True}
        )
    )
    question = user(SCRIPT)
    asked = litellm.completion(model=model, messages=[question], tools=tools).choices[0].message
    call = asked.tool_calls[0]
    result = {"role": "tool", "tool_call_id": call.id, "content": RESULT}
    said = litellm.completion(model=model, messages=[question, asked.model_dump(), result], tools=tools)
    return {
        "text": answer.choices[0].message.content,
        "pieces": sum(1 for chunk in chunks if chunk.choices and chunk.choices[0].delta.content),
        "call": json.loads(call.function.arguments),
        "after": said.choices[0].message.content,
        "reasoning": None,
        "usage": [answer.usage.prompt_tokens, answer.usage.completion_tokens],
        "streamed": [chunks[-1].usage.prompt_tokens, chunks[-1].usage.completion_tokens],
    }


def user(text):
    return {"role": "user", "content": text}


CLIENTS = {
    "openai": openai_sdk,
    "openai-responses": openai_sdk_responses,
    "anthropic": anthropic_sdk,
    "langchain-openai": langchain_openai,
    "langchain-anthropic": langchain_anthropic,
    "litellm-openai": litellm_openai,
    "litellm-anthropic": litellm_anthropic,
}

for name in sys.argv[1:]:
    print(json.dumps({"client": name, **CLIENTS[name]()}), flush=True)
