package mcp

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
)

// maxID is the largest number that an id can be: the SDK reads numbers as
// JavaScript does, and would answer under another one.
const maxID = 1 << 53

// idIn returns the id in a message as it was written, empty if there is none. The error means that
// the message is not an object.
func idIn(message []byte) (json.RawMessage, error) {
	var head struct {
		ID json.RawMessage `json:"id"`
	}
	err := json.Unmarshal(message, &head)
	return head.ID, err
}

// isNumber reports whether an id that is JSON is a number.
func isNumber(id json.RawMessage) bool {
	return len(id) > 0 && (id[0] == '-' || id[0] >= '0' && id[0] <= '9')
}

// canAnswer reports whether an answer can bear the id: of numbers, the SDK keeps only
// whole ones.
func canAnswer(id json.RawMessage) bool {
	if !isNumber(id) {
		return true
	}
	n, err := strconv.ParseFloat(string(id), 64)
	return err == nil && n == math.Trunc(n) && math.Abs(n) <= maxID
}

// invalidID is the error for an id that an answer cannot carry.
const invalidID = "the id of a request must be a text or a whole number of at most 2^53; nothing was done"

// refusal returns the error response to a message that could not be accepted, under its id if it
// has one.
func refusal(id json.RawMessage, code int, text string) []byte {
	if !isNumber(id) && (len(id) == 0 || id[0] != '"') {
		id = json.RawMessage("null")
	}
	message, _ := json.Marshal(text) // a string always can be
	return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":%s}}`, id, code, message)
}
