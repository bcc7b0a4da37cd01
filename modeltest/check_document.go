package modeltest

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"strings"
)

// The providers' rules of PDFs, as of November 2026:
//
//   - Messages API (platform.claude.com/docs/en/build-with-claude/pdf-support): a document block
//     with a base64 source of the type application/pdf, a standard PDF without encryption.
//   - Responses and Chat Completions (developers.openai.com/api/docs/guides/file-inputs): an
//     input_file, or a part of type file, with a filename and with file_data as a data URL; Chat
//     Completions take PDFs only.
//   - Gemini (ai.google.dev/gemini-api/docs/document-processing): inlineData of the type
//     application/pdf, with pages.

// pdfFault checks the document of the Messages API.
func pdfFault(mediaType, encoded, at string) *apiError {
	if mediaType != "application/pdf" {
		return invalid("%s.document.source.base64.media_type: Input should be 'application/pdf'", at)
	}
	switch isPDF, isEncrypted := readablePDF(encoded); {
	case !isPDF:
		return invalid("%s.document.source.base64: The PDF specified was not valid.", at)
	case isEncrypted:
		return invalid("%s.document.source.base64: The PDF specified is password protected.", at)
	}
	return nil
}

// readablePDF reports whether base64 is a PDF with its end, and whether that is encrypted.
func readablePDF(encoded string) (isPDF, isEncrypted bool) {
	data, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil || !bytes.Contains(data[:min(len(data), 1024)], []byte("%PDF-")) ||
		!bytes.Contains(data[max(len(data)-1024, 0):], []byte("%%EOF")) {
		return false, false
	}
	return true, bytes.Contains(data, []byte("/Encrypt"))
}

// filePartFault checks a part of OpenAI's that is a file: an input_file, or one whose member file
// has the same.
func filePartFault(raw json.RawMessage, param string) *apiError {
	type content struct {
		Filename string `json:"filename"`
		FileData string `json:"file_data"`
		FileID   string `json:"file_id"`
		FileURL  string `json:"file_url"`
	}
	var part struct {
		Type string   `json:"type"`
		File *content `json:"file"`
		content
	}
	if json.Unmarshal(raw, &part) != nil || part.Type != "input_file" && part.Type != "file" {
		return nil
	}
	f := part.content
	if part.Type == "file" {
		if part.File == nil {
			return invalid("Missing required parameter: '%s.file'.", param).at(param, "missing_required_parameter")
		}
		f = *part.File
	}
	if f.FileID != "" || f.FileURL != "" {
		return nil
	}
	encoded, isURL := strings.CutPrefix(f.FileData, "data:application/pdf;base64,")
	switch isPDF, _ := readablePDF(encoded); {
	case f.Filename == "":
		return invalid("Missing required parameter: '%s.filename'.", param).at(param, "missing_required_parameter")
	case !isURL:
		return invalid("Invalid '%s.file_data'. Expected a base64-encoded data URL with an application/pdf MIME type "+
			"(e.g. 'data:application/pdf;base64,aW1nIGJ5dGVzIGhlcmU='), but got a value without one.", param).
			at(param, "invalid_value")
	case !isPDF:
		return invalid("The file '%s' could not be read as a PDF.", f.Filename).at(param, "invalid_file_data")
	}
	return nil
}
