package main

import (
	"context"
	"encoding/json"
	"errors"
	"os"

	"github.com/anthropics/anthropic-sdk-go/v2"
)

func askMessages(ctx context.Context) (seen, error) {
	client, model := anthropic.NewClient(), os.Getenv("ANTHROPIC_MODEL")
	ask := func(text string) anthropic.MessageNewParams {
		question := anthropic.NewUserMessage(anthropic.NewTextBlock(text))
		return anthropic.MessageNewParams{Model: model, MaxTokens: 4096, Messages: []anthropic.MessageParam{question}}
	}

	thinking := ask("Hello")
	thinking.Thinking = anthropic.ThinkingConfigParamOfEnabled(1024)
	answer, err := client.Messages.New(ctx, thinking)
	if err != nil {
		return seen{}, err
	}
	text, reasoning := "", ""
	for _, block := range answer.Content {
		text += block.Text
		reasoning += block.Thinking
	}

	stream := client.Messages.NewStreaming(ctx, ask("Count to twenty."))
	sum, pieces := anthropic.Message{}, 0
	for stream.Next() {
		event := stream.Current()
		if err := sum.Accumulate(event); err != nil {
			return seen{}, err
		}
		if event.Type == "content_block_delta" && event.Delta.Text != "" {
			pieces++
		}
	}
	if stream.Err() != nil {
		return seen{}, stream.Err()
	}

	question := ask(script)
	question.Tools = []anthropic.ToolUnionParam{{OfTool: &anthropic.ToolParam{
		Name:        "get_weather",
		InputSchema: anthropic.ToolInputSchemaParam{Properties: properties, Required: []string{"city"}},
	}}}
	asked, err := client.Messages.New(ctx, question)
	if err != nil {
		return seen{}, err
	}
	var call anthropic.ToolUseBlock
	for _, block := range asked.Content {
		if found, ok := block.AsAny().(anthropic.ToolUseBlock); ok {
			call = found
		}
	}
	if call.ID == "" {
		return seen{}, errors.New("the model called no tool")
	}
	answered := anthropic.NewUserMessage(anthropic.NewToolResultBlock(call.ID, result, false))
	question.Messages = append(question.Messages, asked.ToParam(), answered)
	said, err := client.Messages.New(ctx, question)
	if err != nil {
		return seen{}, err
	}
	return seen{
		Text:      text,
		Pieces:    pieces,
		Call:      json.RawMessage(call.Input),
		After:     said.Content[0].Text,
		Reasoning: &reasoning,
		Usage:     [2]int64{answer.Usage.InputTokens, answer.Usage.OutputTokens},
		Streamed:  [2]int64{sum.Usage.InputTokens, sum.Usage.OutputTokens},
	}, nil
}
