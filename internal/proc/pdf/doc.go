// Package pdf reads the text of PDF files for models that do not take them as documents.
//
// A PDF is hostile input: a few bytes can ask a parser for terabytes, or for work without an
// end, and a failed allocation ends a Go program. [Extract] therefore parses in a further
// process of this program, which [RunAsExtractor] turns into an extractor. It has bounds of
// time, memory and output, and its end never ends the host:
//
//	Extract ── the file ──► extractor: pages, lines ── one JSON object ──► Extracted
//	           deadline,    memory limit, own deadline
//
// Files: extract.go is the host's side; extractor.go is the process; content.go finds the strings
// of a page, and page.go makes lines of them; limit_linux.go and limit_other.go bound the process.
package pdf
