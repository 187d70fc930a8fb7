// Holds the same short conversation through each client that its arguments name, and prints what was seen, one line of JSON each.
// Addresses and keys come from the environment, as each client reads them.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
)

const script = "Weather in Oslo? [[sim tool=get_weather arguments=%7B%22city%22%3A%22Oslo%22%7D]]"
const result = "four degrees"

var properties = map[string]any{"city": map[string]any{"type": "string"}}
var parameters = map[string]any{"type": "object", "properties": properties, "required": []string{"city"}}

type seen struct {
	Client    string          `json:"client"`
	Text      string          `json:"text"`
	Pieces    int             `json:"pieces"`
	Call      json.RawMessage `json:"call"`
	After     string          `json:"after"`
	Reasoning *string         `json:"reasoning"`
	Usage     [2]int64        `json:"usage"`
	Streamed  [2]int64        `json:"streamed"`
}

var clients = map[string]func(context.Context) (seen, error){
	"anthropic-go":        askMessages,
	"openai-go":           askChat,
	"openai-go-responses": askResponses,
}

func main() {
	for _, name := range os.Args[1:] {
		if name == "version" {
			continue
		}
		answered, err := clients[name](context.Background())
		if err != nil {
			fmt.Fprintln(os.Stderr, name, err)
			os.Exit(1)
		}
		answered.Client = name
		json.NewEncoder(os.Stdout).Encode(answered)
	}
}
