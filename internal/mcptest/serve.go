package mcptest

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"syscall"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Ends are the three ends of a server's process.
type Ends struct {
	In  io.ReadCloser
	Out io.WriteCloser
	Err io.Writer
}

// Serve speaks to standard input and output as the server that kind names, and returns
// when its input ends:
//
//	good         the SDK's server with the tools of Good
//	older        the same for clients of the revisions before 2026
//	skills       the skills below the folder that the first argument names, see Skills
//	resources    the same without the extension for skills
//	exit         says why on standard error and ends
//	hang         reads and never answers
//	garbage      answers with what is no JSON
//	stubborn     works, and does not end when its input does
//	many         lists 10,000 tools
//	hostile      lists double names, bombs of schemas, texts that hide something
func Serve(kind string, args []string, at Ends) error {
	switch kind {
	case "good":
		return serveGood(&mcp.IOTransport{Reader: at.In, Writer: at.Out}, args, at)
	case "older":
		return serveGood(&older{mcp.IOTransport{Reader: at.In, Writer: at.Out}}, args, at)
	case "skills", "resources":
		s, err := Skills(args[0], kind == "skills")
		if err != nil {
			return err
		}
		return s.Run(context.Background(), &mcp.IOTransport{Reader: at.In, Writer: at.Out})
	case "exit":
		fmt.Fprintln(at.Err, "no licence \x1b[31mfound")
		syscall.Exit(3) // not os.Exit: a program built with -cover would say more
	case "hang":
		_, err := io.Copy(io.Discard, at.In)
		return err
	case "garbage":
		fmt.Fprintln(at.Out, "{{{ this is no JSON")
		_, err := io.Copy(io.Discard, at.In)
		return err
	case "stubborn":
		if err := serveRaw(at, `[{"name":"t","inputSchema":{"type":"object"}}]`); err != nil {
			return err
		}
		time.Sleep(time.Hour)
	case "many":
		var list []string
		for i := range 10_000 {
			list = append(list, fmt.Sprintf(`{"name":"t%05d","inputSchema":{"type":"object"}}`, i))
		}
		return serveRaw(at, "["+strings.Join(list, ",")+"]")
	case "hostile":
		return serveRaw(at, hostile())
	}
	return fmt.Errorf("no server of kind %q", kind)
}

// hostile is a list of tools that no client may take as they are, and of some of which it may
// take nothing.
func hostile() string {
	bomb := `{"type":"object","properties":{"x":{"$ref":"#/$defs/a0"}},"$defs":{`
	for i := range 30 {
		bomb += fmt.Sprintf(`"a%d":{"allOf":[{"$ref":"#/$defs/a%d"},{"$ref":"#/$defs/a%d"}]},`, i, i+1, i+1)
	}
	bomb += `"a30":{"type":"string"}}}`
	deep := `{"type":"object","properties":{"x":` + strings.Repeat(`{"not":`, 200) + `{}` + strings.Repeat(`}`, 200) + `}}`
	tools := []string{
		`{"name":"plain","description":"first","inputSchema":{"type":"object"}}`,
		`{"name":"plain","description":"second","inputSchema":{"type":"object"}}`,
		`{"name":"a.b","inputSchema":{"type":"object"}}`,
		`{"name":"a/b","inputSchema":{"type":"object"}}`,
		`{"name":"","inputSchema":{"type":"object"}}`,
		`{"name":"remote","inputSchema":{"type":"object","properties":{"x":{"$ref":"https://example.com/s.json"}}}}`,
		`{"name":"large","inputSchema":{"type":"object","description":"` + strings.Repeat("x", 70<<10) + `"}}`,
		`{"name":"array","inputSchema":{"type":"array"}}`,
		`{"name":"deep","inputSchema":` + deep + `}`,
		`{"name":"bomb","inputSchema":` + bomb + `}`,
		`{"name":"recursive","inputSchema":{"type":"object","properties":{"and":{"type":"array","items":{"$ref":"#"}}}}}`,
		`{"name":"lookahead","inputSchema":{"type":"object","properties":{"x":{"type":"string","pattern":"^(?=a)b"}}}}`,
		`{"name":"hidden","description":"good\u001b[2J\u202eevil\u200b\n\nSecond line.` + strings.Repeat("y", 9000) +
			`","inputSchema":{"type":"object","properties":{"p":{"type":"string","description":"\u001b]0;title\u0007a\u202eb"}},"$comment":"unseen"}}`,
		`{"name":"` + strings.Repeat("long", 30) + `1","inputSchema":{"type":"object"}}`,
		`{"name":"` + strings.Repeat("long", 30) + `2","inputSchema":{"type":"object"}}`,
	}
	return "[" + strings.Join(tools, ",") + "]"
}

// serveRaw speaks the protocol by hand, for lists that the SDK refuses to serve.
func serveRaw(at Ends, tools string) error {
	in := bufio.NewReader(at.In)
	for {
		line, err := in.ReadBytes('\n')
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		var call struct {
			ID     json.RawMessage
			Method string
		}
		if json.Unmarshal(line, &call) != nil || call.ID == nil {
			continue
		}
		answer := `"error":{"code":-32601,"message":"not found"}`
		switch call.Method {
		case "initialize":
			answer = `"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"raw","version":"1"}}`
		case "tools/list":
			answer = `"result":{"tools":` + tools + `}`
		case "tools/call":
			answer = `"result":{"content":[{"type":"text","text":"done"}]}`
		}
		fmt.Fprintf(at.Out, `{"jsonrpc":"2.0","id":%s,%s}`+"\n", call.ID, answer)
	}
}
