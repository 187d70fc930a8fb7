package main

import (
	"encoding/json"
	"errors"
	"flag"
	"io"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// flooded is what the answers to a flood were.
type flooded struct {
	// Answers by status; 0 counts requests that got none.
	Statuses map[int]int `json:"statuses"`
	// Bytes of all answers.
	Bytes   int64   `json:"bytes"`
	Seconds float64 `json:"seconds"`
	// One body of each status that is an error.
	Samples map[int]string `json:"samples"`
}

// flood sends the same request over many connections, without a pause and whatever the answers say, until its standard
// input closes, and prints what it got as JSON.
func flood(arguments []string) error {
	flags := flag.NewFlagSet("flood", flag.ContinueOnError)
	url := flags.String("url", "", "where to send")
	connections := flags.Int("connections", 1, "requests under way at once")
	body := flags.String("body", "", "of a POST; a GET without")
	keys := flags.String("keys", "", "a `file` of API keys, one a line, sent in turn as x-api-key")
	all := headers{}
	flags.Var(all, "header", "`name: value`; a file's content where the value is @file")
	if err := flags.Parse(arguments); err != nil {
		return err
	}
	if err := readFiles(all); err != nil {
		return err
	}
	run := flooder{url: *url, body: *body, headers: http.Header(all), counted: flooded{Statuses: map[int]int{}, Samples: map[int]string{}}}
	if *keys != "" {
		content, err := os.ReadFile(*keys)
		if err != nil {
			return err
		}
		run.keys = strings.Fields(string(content))
	}
	run.client = &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: *connections, DisableCompression: true}}
	start := time.Now()
	for range *connections {
		go func() {
			for {
				run.one()
			}
		}()
	}
	_, _ = io.Copy(io.Discard, os.Stdin)
	return json.NewEncoder(os.Stdout).Encode(run.result(time.Since(start)))
}

type flooder struct {
	url, body string
	headers   http.Header
	keys      []string
	client    *http.Client
	next      atomic.Int64
	bytes     atomic.Int64
	mutex     sync.Mutex
	counted   flooded
}

func (run *flooder) one() {
	method := http.MethodPost
	if run.body == "" {
		method = http.MethodGet
	}
	outgoing, err := http.NewRequest(method, run.url, strings.NewReader(run.body))
	if err != nil {
		run.count(0, err.Error())
		return
	}
	outgoing.Header = run.headers.Clone()
	if len(run.keys) > 0 {
		outgoing.Header.Set("x-api-key", run.keys[int(run.next.Add(1))%len(run.keys)])
	}
	response, err := run.client.Do(outgoing)
	if err != nil {
		run.count(0, err.Error())
		// A gateway that takes no connections would be asked by nothing but this loop.
		time.Sleep(10 * time.Millisecond)
		return
	}
	defer response.Body.Close()
	sample := ""
	if response.StatusCode >= http.StatusBadRequest {
		start, _ := io.ReadAll(io.LimitReader(response.Body, 600))
		sample = "retry-after " + strconv.Quote(response.Header.Get("retry-after")) + ": " + string(start)
	}
	run.count(response.StatusCode, sample)
	_, err = io.Copy(counter{&run.bytes}, response.Body)
	if err != nil && !errors.Is(err, io.EOF) {
		run.count(0, err.Error())
	}
}

func (run *flooder) count(status int, sample string) {
	run.mutex.Lock()
	defer run.mutex.Unlock()
	run.counted.Statuses[status]++
	if _, known := run.counted.Samples[status]; !known && sample != "" {
		run.counted.Samples[status] = sample
	}
}

func (run *flooder) result(elapsed time.Duration) flooded {
	run.mutex.Lock()
	defer run.mutex.Unlock()
	run.counted.Bytes, run.counted.Seconds = run.bytes.Load(), elapsed.Seconds()
	return run.counted
}

type counter struct{ bytes *atomic.Int64 }

func (each counter) Write(content []byte) (int, error) {
	each.bytes.Add(int64(len(content)))
	return len(content), nil
}
