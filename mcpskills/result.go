package mcpskills

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/deftskills/deft/internal/safetext"
	"github.com/deftskills/deft/toolset"
)

// result is what a model is told of an answer. Texts come as they are, the loop bounds
// them; what is no text is described; nothing that is linked is opened.
func (t *tool) result(r *mcp.CallToolResult) toolset.Result {
	var parts []string
	for _, c := range r.Content {
		parts = append(parts, part(c))
	}
	if len(parts) == 0 && r.StructuredContent != nil {
		if text, err := json.Marshal(r.StructuredContent); err == nil {
			parts = append(parts, string(text))
		}
	}
	out := toolset.Result{Text: strings.Join(parts, "\n"), Structured: r.StructuredContent, IsError: r.IsError}
	if out.Text == "" {
		out.Text = "(The tool gave nothing back.)"
	}
	if r.IsError {
		out.Code = "mcp_tool_error"
	}
	return out
}

// part is one part of an answer as text.
func part(c mcp.Content) string {
	switch c := c.(type) {
	case *mcp.TextContent:
		return c.Text
	case *mcp.ImageContent:
		return described("image", c.MIMEType, c.Data)
	case *mcp.AudioContent:
		return described("audio", c.MIMEType, c.Data)
	case *mcp.ResourceLink:
		return fmt.Sprintf("[link, not opened: %s %s %s]", word(c.Name), word(c.URI), word(c.MIMEType))
	case *mcp.EmbeddedResource:
		if c.Resource == nil {
			return "[an empty resource]"
		}
		if len(c.Resource.Blob) > 0 {
			return described("resource "+word(c.Resource.URI), c.Resource.MIMEType, c.Resource.Blob)
		}
		return fmt.Sprintf("[resource %s]\n%s", word(c.Resource.URI), c.Resource.Text)
	}
	return "[a part of a kind that is not known]"
}

// described tells of bytes that are no text.
func described(kind, mime string, data []byte) string {
	if mime == "" {
		mime = "unknown type"
	}
	return fmt.Sprintf("[%s: %s, %d bytes, sha256 %x]", kind, word(mime), len(data), sha256.Sum256(data))
}

// word is a short text of a server on one line.
func word(s string) string {
	clean, _ := safetext.Field(s)
	return safetext.Clip(clean, 300)
}
