package main

import (
	"context"
	"encoding/json"
	"errors"
	"os"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/responses"
	"github.com/openai/openai-go/v3/shared"
)

func askChat(ctx context.Context) (seen, error) {
	client, model := openai.NewClient(), os.Getenv("OPENAI_MODEL")
	ask := func(messages ...openai.ChatCompletionMessageParamUnion) openai.ChatCompletionNewParams {
		return openai.ChatCompletionNewParams{Model: model, Messages: messages}
	}

	thinking := ask(openai.UserMessage("Hello"))
	thinking.ReasoningEffort = shared.ReasoningEffortHigh
	answer, err := client.Chat.Completions.New(ctx, thinking)
	if err != nil {
		return seen{}, err
	}
	var reasoning *string
	extra := answer.Choices[0].Message.JSON.ExtraFields["reasoning_content"]
	if err := json.Unmarshal([]byte(extra.Raw()), &reasoning); err != nil {
		return seen{}, err
	}

	counting := ask(openai.UserMessage("Count to twenty."))
	counting.StreamOptions.IncludeUsage = openai.Bool(true)
	stream := client.Chat.Completions.NewStreaming(ctx, counting)
	sum, pieces := openai.ChatCompletionAccumulator{}, 0
	for stream.Next() {
		chunk := stream.Current()
		if !sum.AddChunk(chunk) {
			return seen{}, errors.New("a chunk does not belong to its stream")
		}
		if len(chunk.Choices) > 0 && chunk.Choices[0].Delta.Content != "" {
			pieces++
		}
	}
	if stream.Err() != nil {
		return seen{}, stream.Err()
	}

	question := ask(openai.UserMessage(script))
	question.Tools = []openai.ChatCompletionToolUnionParam{
		openai.ChatCompletionFunctionTool(shared.FunctionDefinitionParam{Name: "get_weather", Parameters: parameters}),
	}
	asked, err := client.Chat.Completions.New(ctx, question)
	if err != nil {
		return seen{}, err
	}
	message := asked.Choices[0].Message
	if len(message.ToolCalls) == 0 {
		return seen{}, errors.New("the model called no tool")
	}
	call := message.ToolCalls[0]
	question.Messages = append(question.Messages, message.ToParam(), openai.ToolMessage(result, call.ID))
	said, err := client.Chat.Completions.New(ctx, question)
	if err != nil {
		return seen{}, err
	}
	return seen{
		Text:      answer.Choices[0].Message.Content,
		Pieces:    pieces,
		Call:      json.RawMessage(call.Function.Arguments),
		After:     said.Choices[0].Message.Content,
		Reasoning: reasoning,
		Usage:     [2]int64{answer.Usage.PromptTokens, answer.Usage.CompletionTokens},
		Streamed:  [2]int64{sum.Usage.PromptTokens, sum.Usage.CompletionTokens},
	}, nil
}

func askResponses(ctx context.Context) (seen, error) {
	client, model := openai.NewClient(), os.Getenv("OPENAI_MODEL")
	ask := func(items ...responses.ResponseInputItemUnionParam) responses.ResponseNewParams {
		return responses.ResponseNewParams{Model: model, Input: responses.ResponseNewParamsInputUnion{OfInputItemList: items}}
	}
	user := func(text string) responses.ResponseInputItemUnionParam {
		return responses.ResponseInputItemParamOfMessage(text, responses.EasyInputMessageRoleUser)
	}

	thinking := ask(user("Hello"))
	thinking.Reasoning = shared.ReasoningParam{Effort: shared.ReasoningEffortHigh, Summary: shared.ReasoningSummaryAuto}
	answer, err := client.Responses.New(ctx, thinking)
	if err != nil {
		return seen{}, err
	}
	reasoning := ""
	for _, item := range answer.Output {
		for _, part := range item.Summary {
			reasoning += part.Text
		}
	}

	stream := client.Responses.NewStreaming(ctx, ask(user("Count to twenty.")))
	pieces, streamed := 0, responses.ResponseUsage{}
	for stream.Next() {
		switch event := stream.Current().AsAny().(type) {
		case responses.ResponseTextDeltaEvent:
			pieces++
		case responses.ResponseCompletedEvent:
			streamed = event.Response.Usage
		}
	}
	if stream.Err() != nil {
		return seen{}, stream.Err()
	}

	question := ask(user(script))
	question.Tools = []responses.ToolUnionParam{{OfFunction: &responses.FunctionToolParam{
		Name: "get_weather", Parameters: parameters, Strict: openai.Bool(false),
	}}}
	asked, err := client.Responses.New(ctx, question)
	if err != nil {
		return seen{}, err
	}
	var call responses.ResponseFunctionToolCall
	for _, item := range asked.Output {
		if found, ok := item.AsAny().(responses.ResponseFunctionToolCall); ok {
			call = found
		}
	}
	if call.CallID == "" {
		return seen{}, errors.New("the model called no tool")
	}
	called := call.ToParam()
	question.Input.OfInputItemList = append(question.Input.OfInputItemList,
		responses.ResponseInputItemUnionParam{OfFunctionCall: &called},
		responses.ResponseInputItemUnionParam{OfFunctionCallOutput: &responses.ResponseInputItemFunctionCallOutputParam{
			CallID: openai.String(call.CallID),
			Output: responses.ResponseInputItemFunctionCallOutputOutputUnionParam{OfString: openai.String(result)},
		}},
	)
	said, err := client.Responses.New(ctx, question)
	if err != nil {
		return seen{}, err
	}
	return seen{
		Text:      answer.OutputText(),
		Pieces:    pieces,
		Call:      json.RawMessage(call.Arguments),
		After:     said.OutputText(),
		Reasoning: &reasoning,
		Usage:     [2]int64{answer.Usage.InputTokens, answer.Usage.OutputTokens},
		Streamed:  [2]int64{streamed.InputTokens, streamed.OutputTokens},
	}, nil
}
