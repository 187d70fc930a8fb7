package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"
)

// upstream serves chat completions and messages until it is killed. It prints its address as its first line.
func upstream(arguments []string) error {
	flags := flag.NewFlagSet("upstream", flag.ContinueOnError)
	listen := flags.String("listen", "127.0.0.1:0", "loopback address to listen on")
	if err := flags.Parse(arguments); err != nil {
		return err
	}
	listener, err := net.Listen("tcp", *listen)
	if err != nil {
		return err
	}
	fmt.Printf("http://%s\n", listener.Addr())
	// Whoever started this holds the other end of standard input: it closes when that process is gone.
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}()
	return http.Serve(listener, http.HandlerFunc(answer))
}

// wish is what a request asks of the answer: `[[bench chunks=100 gap=50ms burst=1]]` anywhere in its prompt.
type wish struct {
	chunks int
	gap    time.Duration
	// Chunks that are written at once.
	burst int
}

type request struct {
	Model         string `json:"model"`
	Stream        bool   `json:"stream"`
	StreamOptions struct {
		IncludeUsage bool `json:"include_usage"`
	} `json:"stream_options"`
}

// Peers that ask their model servers for what they serve send a model elsewhere if it is not listed.
const models = `{"object":"list","data":[{"id":"bench-chat","object":"model"},{"id":"bench-messages","object":"model"}]}`

func answer(writer http.ResponseWriter, incoming *http.Request) {
	if strings.HasSuffix(incoming.URL.Path, "/models") {
		_, _ = io.WriteString(writer, models)
		return
	}
	body, err := io.ReadAll(incoming.Body)
	if err != nil {
		return
	}
	var asked request
	if err := json.Unmarshal(body, &asked); err != nil {
		http.Error(writer, `{"error":{"message":"not JSON"}}`, http.StatusBadRequest)
		return
	}
	wanted := readWish(body)
	switch {
	case strings.HasSuffix(incoming.URL.Path, "/chat/completions"):
		respond(writer, asked, wanted, chatScript(asked, wanted, len(body)))
	case strings.HasSuffix(incoming.URL.Path, "/messages"):
		respond(writer, asked, wanted, messagesScript(asked, wanted, len(body)))
	default:
		http.NotFound(writer, incoming)
	}
}

// script is one answer in both of its forms.
type script struct {
	whole  func() string
	before []string
	chunk  string
	after  []string
}

func respond(writer http.ResponseWriter, asked request, wanted wish, text script) {
	if !asked.Stream {
		time.Sleep(wanted.gap)
		writer.Header().Set("content-type", "application/json")
		whole := text.whole()
		writer.Header().Set("content-length", strconv.Itoa(len(whole)))
		_, _ = io.WriteString(writer, whole)
		return
	}
	writer.Header().Set("content-type", "text/event-stream")
	flusher, _ := writer.(http.Flusher)
	send := func(event string) bool {
		_, err := io.WriteString(writer, event)
		flusher.Flush()
		return err == nil
	}
	for _, event := range text.before {
		if !send(event) {
			return
		}
	}
	burst := strings.Repeat(text.chunk, wanted.burst)
	for range wanted.chunks / wanted.burst {
		time.Sleep(wanted.gap)
		if !send(burst) {
			return
		}
	}
	for _, event := range text.after {
		if !send(event) {
			return
		}
	}
}

func readWish(body []byte) wish {
	wanted := wish{chunks: 100, burst: 1}
	_, rest, found := bytes.Cut(body, []byte("[[bench "))
	if !found {
		return wanted
	}
	words, _, _ := bytes.Cut(rest, []byte("]]"))
	for _, word := range strings.Fields(string(words)) {
		name, value, _ := strings.Cut(word, "=")
		switch name {
		case "chunks":
			wanted.chunks, _ = strconv.Atoi(value)
		case "gap":
			wanted.gap, _ = time.ParseDuration(value)
		case "burst":
			wanted.burst, _ = strconv.Atoi(value)
		}
	}
	wanted.burst = max(wanted.burst, 1)
	return wanted
}

const word = " token"

// A quarter of the prompt comes out of the cache, so that more than one price of the gateway takes part.
func chatScript(asked request, wanted wish, promptBytes int) script {
	input, output := promptBytes/4, wanted.chunks
	usage := fmt.Sprintf(`{"prompt_tokens":%d,"completion_tokens":%d,"total_tokens":%d,"prompt_tokens_details":{"cached_tokens":%d}}`,
		input, output, input+output, input/4)
	head := fmt.Sprintf(`"id":"chatcmpl-bench","created":1767225600,"model":%q`, asked.Model)
	chunk := func(delta, finish, usage string) string {
		return fmt.Sprintf("data: {%s,\"object\":\"chat.completion.chunk\",\"choices\":[{\"index\":0,\"delta\":%s,\"finish_reason\":%s}]%s}\n\n",
			head, delta, finish, usage)
	}
	after := []string{chunk("{}", `"stop"`, "")}
	if asked.StreamOptions.IncludeUsage {
		after = append(after, fmt.Sprintf("data: {%s,\"object\":\"chat.completion.chunk\",\"choices\":[],\"usage\":%s}\n\n", head, usage))
	}
	return script{
		whole: func() string {
			return fmt.Sprintf(`{%s,"object":"chat.completion","choices":[{"index":0,"message":{"role":"assistant","content":%q},"finish_reason":"stop"}],"usage":%s}`,
				head, strings.Repeat(word, wanted.chunks), usage)
		},
		before: []string{chunk(`{"role":"assistant","content":""}`, "null", "")},
		chunk:  chunk(fmt.Sprintf(`{"content":%q}`, word), "null", ""),
		after:  append(after, "data: [DONE]\n\n"),
	}
}

func messagesScript(asked request, wanted wish, promptBytes int) script {
	input, cached := promptBytes/4*3/4, promptBytes/4/4
	usage := func(output int) string {
		return fmt.Sprintf(`{"input_tokens":%d,"cache_creation_input_tokens":0,"cache_read_input_tokens":%d,"output_tokens":%d}`,
			input, cached, output)
	}
	event := func(name, members string) string {
		return fmt.Sprintf("event: %s\ndata: {\"type\":%q%s}\n\n", name, name, members)
	}
	head := fmt.Sprintf(`"id":"msg_bench","type":"message","role":"assistant","model":%q`, asked.Model)
	return script{
		whole: func() string {
			return fmt.Sprintf(`{%s,"content":[{"type":"text","text":%q}],"stop_reason":"end_turn","stop_sequence":null,"usage":%s}`,
				head, strings.Repeat(word, wanted.chunks), usage(wanted.chunks))
		},
		before: []string{
			event("message_start", fmt.Sprintf(`,"message":{%s,"content":[],"stop_reason":null,"stop_sequence":null,"usage":%s}`, head, usage(1))),
			event("content_block_start", `,"index":0,"content_block":{"type":"text","text":""}`),
		},
		chunk: event("content_block_delta", fmt.Sprintf(`,"index":0,"delta":{"type":"text_delta","text":%q}`, word)),
		after: []string{
			event("content_block_stop", `,"index":0`),
			event("message_delta", fmt.Sprintf(`,"delta":{"stop_reason":"end_turn","stop_sequence":null},"usage":%s`, usage(wanted.chunks))),
			event("message_stop", ""),
		},
	}
}
