package main

import (
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"strconv"
	"time"
)

// loadDelay is the time between two deltas of a response: 20 a second.
const loadDelay = 50 * time.Millisecond

// loadModel is a model server for load, a process of its own: each response has the current time,
// 20 times a second, until the client is gone. It prints its address, and ends with its standard
// input.
func loadModel() {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Printf("http://%s/v1\n", listener.Addr())
	go func() { // ends with the process
		_ = http.Serve(listener, http.HandlerFunc(tellTime))
	}()
	_, _ = io.Copy(io.Discard, os.Stdin)
}

func tellTime(w http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	if r.Method != http.MethodPost {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	control := http.NewResponseController(w)
	chunk := []byte(
		`data: {"id":"c","object":"chat.completion.chunk","created":0,"model":"m","choices":[{"index":0,"delta":{"role":"assistant","content":"`,
	)
	head := len(chunk)
	ticker := time.NewTicker(loadDelay)
	defer ticker.Stop()
	first := time.NewTimer(rand.N(loadDelay)) // so that responses do not march in step
	defer first.Stop()
	select {
	case <-first.C:
		ticker.Reset(loadDelay)
	case <-r.Context().Done():
		return
	}
	for {
		chunk = strconv.AppendInt(chunk[:head], time.Now().UnixNano(), 10)
		chunk = append(chunk, ` "},"finish_reason":null}]}`+"\n\n"...)
		if _, err := w.Write(chunk); err != nil || control.Flush() != nil {
			return
		}
		select {
		case <-ticker.C:
		case <-r.Context().Done():
			return
		}
	}
}
