package cli

import (
	"bytes"
	"encoding/json"
	"io"

	"github.com/deftskills/deft/skill"
)

// hostTools are the tools that a host registers, for the advice on skills that name tools:
// deft itself does not know what another program brings.
type hostTools struct {
	Tools []string          `json:"tools"`
	Keys  map[string]string `json:"keys"` // the variable that the tools of a provider need, by the part of their names before "_"
}

// maxHostTools bounds the file: ten thousand names with room to spare.
const maxHostTools = 1 << 20

// readHostTools reads the file of --tools; "" is none.
func (r *run) readHostTools(path string) (hostTools, error) {
	var h hostTools
	if path == "" {
		return h, nil
	}
	f, err := openRegular(r.abs(path))
	if err != nil {
		return h, usage("tools %q: %s", path, err)
	}
	defer f.Close()
	data, err := readAllUpTo(f, nil, maxHostTools)
	if err != nil {
		return h, usage("tools %q: %s", path, err)
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&h); err != nil {
		return h, usage("tools %q: %s", path, err).hinted("hint.lint_tools")
	}
	if _, err := dec.Token(); err != io.EOF {
		return h, usage("tools %q: more than one value", path).hinted("hint.lint_tools")
	}
	if h.Tools == nil {
		return h, usage("tools %q: it lists no tools", path).hinted("hint.lint_tools")
	}
	return h, nil
}

// into has the lints know the tools.
func (h hostTools) into(o *skill.LintOptions) {
	if h.Tools != nil {
		o.Tools, o.Keys = skill.NewNameSet(h.Tools...), h.Keys
	}
}
