package file

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"image"
	_ "image/gif" // registers its decoder
	_ "image/jpeg"
	_ "image/png"
	"io"
	"net/http"
	"strings"
)

// describeBinary describes a file that is not text; "" for text. head is its beginning, and
// r reads the whole file.
func describeBinary(head []byte, r io.ReadSeeker) string {
	kind, _, _ := strings.Cut(http.DetectContentType(head), ";")
	switch {
	case strings.HasPrefix(kind, "image/"):
		return "an image (" + kind + dimensions(kind, head, r) + ")"
	case bytes.HasPrefix(head, []byte{0xff, 0xfe}), bytes.HasPrefix(head, []byte{0xfe, 0xff}):
		return "text in UTF-16"
	case bytes.IndexByte(head, 0) >= 0, isBinaryType(kind):
		if kind == "application/octet-stream" || strings.HasPrefix(kind, "text/") {
			return "a binary file"
		}
		return "a binary file (" + kind + ")"
	}
	return ""
}

// isBinaryType reports whether a sniffed type is neither text nor unknown bytes. PostScript
// has a signature and is text.
func isBinaryType(kind string) bool {
	return !strings.HasPrefix(kind, "text/") && kind != "application/octet-stream" && kind != "application/postscript"
}

// maxImageHeader bounds the bytes of an image that are read for its size, because a JPEG
// can begin with long metadata.
const maxImageHeader = 1 << 20

func dimensions(kind string, head []byte, r io.ReadSeeker) string {
	if kind == "image/webp" {
		return webpDimensions(head)
	}
	if _, err := r.Seek(0, io.SeekStart); err != nil {
		return ""
	}
	config, _, err := image.DecodeConfig(io.LimitReader(r, maxImageHeader))
	if err != nil {
		return ""
	}
	return fmt.Sprintf(", %d×%d pixels", config.Width, config.Height)
}

// webpDimensions reads the first chunk of a WebP file, which is VP8 (lossy),
// VP8L (lossless) or VP8X (extended): RFC 9649, sections 2.5 to 2.7.
func webpDimensions(head []byte) string {
	if len(head) < 30 {
		return ""
	}
	var width, height uint32
	switch string(head[12:16]) {
	case "VP8 ":
		width = uint32(binary.LittleEndian.Uint16(head[26:]) & 0x3fff)
		height = uint32(binary.LittleEndian.Uint16(head[28:]) & 0x3fff)
	case "VP8L":
		bits := binary.LittleEndian.Uint32(head[21:])
		width, height = bits&0x3fff+1, bits>>14&0x3fff+1
	case "VP8X":
		width = binary.LittleEndian.Uint32(head[24:])&0xffffff + 1
		height = binary.LittleEndian.Uint32(head[26:])>>8 + 1
	default:
		return ""
	}
	return fmt.Sprintf(", %d×%d pixels", width, height)
}
