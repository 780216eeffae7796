package mcpskills

//lint:file-ignore SA1019 the newest revision takes roots out; servers of the ones before ask for them

import "github.com/modelcontextprotocol/go-sdk/mcp"

// rooted is a client that tells the server the path of the workspace, which a person
// allowed.
func rooted(who *mcp.Implementation, o *mcp.ClientOptions, workspace string) *mcp.Client {
	o.Capabilities.RootsV2 = &mcp.RootCapabilities{}
	c := mcp.NewClient(who, o)
	c.AddRoots(&mcp.Root{URI: fileURI(workspace), Name: "workspace"})
	return c
}
