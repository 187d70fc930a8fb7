package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// result is what one run measured; times are in milliseconds.
type result struct {
	Requests  int     `json:"requests"`
	Failures  int     `json:"failures"`
	Failure   string  `json:"failure,omitempty"`
	Seconds   float64 `json:"seconds"`
	PerSecond float64 `json:"perSecond"`
	Whole     spread  `json:"wholeMs"`
	FirstByte spread  `json:"firstByteMs"`
}

type headers http.Header

func (each headers) String() string { return "" }

func (each headers) Set(line string) error {
	name, value, found := strings.Cut(line, ": ")
	if !found {
		return fmt.Errorf("a header is written `name: value`")
	}
	http.Header(each).Set(name, value)
	return nil
}

// drive sends the body that it finds on standard input, again and again, and prints a result as JSON.
func drive(arguments []string) error {
	flags := flag.NewFlagSet("drive", flag.ContinueOnError)
	url := flags.String("url", "", "where to send")
	connections := flags.Int("connections", 32, "requests under way at once")
	requests := flags.Int("requests", 1000, "requests in all")
	rate := flags.Float64("rate", 0, "requests a second; 0 sends the next one when a connection is free")
	expect := flags.String("expect", "", "text that every whole answer holds")
	all := headers{}
	flags.Var(all, "header", "`name: value`; a file's content where the value is @file")
	if err := flags.Parse(arguments); err != nil {
		return err
	}
	if err := readFiles(all); err != nil {
		return err
	}
	body, err := io.ReadAll(os.Stdin)
	if err != nil {
		return err
	}
	run := driver{url: *url, headers: http.Header(all), body: body, expect: []byte(*expect), client: &http.Client{
		Transport: &http.Transport{MaxIdleConnsPerHost: *connections, MaxConnsPerHost: *connections, DisableCompression: true},
		Timeout:   2 * time.Minute,
	}}
	return json.NewEncoder(os.Stdout).Encode(run.all(*requests, *connections, *rate))
}

// Keys are not for command lines, which every process of the machine can read.
func readFiles(all headers) error {
	for name, values := range all {
		path, isFile := strings.CutPrefix(values[0], "@")
		if !isFile {
			continue
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		http.Header(all).Set(name, strings.TrimSpace(string(content)))
	}
	return nil
}

type driver struct {
	url     string
	headers http.Header
	body    []byte
	expect  []byte
	client  *http.Client
}

type sample struct {
	whole     time.Duration
	firstByte time.Duration
	err       error
}

func (run driver) all(requests, connections int, rate float64) result {
	samples := make([]sample, requests)
	var next atomic.Int64
	var waiting sync.WaitGroup
	start := time.Now()
	for range connections {
		waiting.Add(1)
		go func() {
			defer waiting.Done()
			for {
				index := int(next.Add(1)) - 1
				if index >= requests {
					return
				}
				due := time.Now()
				if rate > 0 {
					// From when it was due, not from when a connection was free: waiting belongs to the answer's time.
					due = start.Add(time.Duration(float64(index) / rate * float64(time.Second)))
					time.Sleep(time.Until(due))
				}
				samples[index] = run.one(due)
			}
		}()
	}
	waiting.Wait()
	return summarize(samples, time.Since(start))
}

func (run driver) one(due time.Time) sample {
	outgoing, err := http.NewRequest(http.MethodPost, run.url, bytes.NewReader(run.body))
	if err != nil {
		return sample{err: err}
	}
	outgoing.Header = run.headers
	response, err := run.client.Do(outgoing)
	if err != nil {
		return sample{err: err}
	}
	defer response.Body.Close()
	var content bytes.Buffer
	first := make([]byte, 1)
	if _, err := io.ReadFull(response.Body, first); err != nil {
		return sample{err: fmt.Errorf("status %d and no body: %w", response.StatusCode, err)}
	}
	firstByte := time.Since(due)
	content.Write(first)
	if _, err := content.ReadFrom(response.Body); err != nil {
		return sample{err: err}
	}
	if response.StatusCode != http.StatusOK {
		return sample{err: fmt.Errorf("status %d: %.300s", response.StatusCode, content.String())}
	}
	if !bytes.Contains(content.Bytes(), run.expect) {
		return sample{err: fmt.Errorf("an answer without %q: %.300s", run.expect, content.String())}
	}
	return sample{whole: time.Since(due), firstByte: firstByte}
}

func summarize(samples []sample, elapsed time.Duration) result {
	sum := result{Requests: len(samples), Seconds: elapsed.Seconds()}
	var whole, firstByte []time.Duration
	for _, each := range samples {
		if each.err != nil {
			sum.Failures++
			sum.Failure = each.err.Error()
			continue
		}
		whole = append(whole, each.whole)
		firstByte = append(firstByte, each.firstByte)
	}
	sum.PerSecond = float64(len(whole)) / elapsed.Seconds()
	sum.Whole, sum.FirstByte = spreadOf(whole), spreadOf(firstByte)
	return sum
}
