package scan

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"

	"go.yaml.in/yaml/v3"

	"github.com/deftskills/deft/internal/fold"
	"github.com/deftskills/deft/skill"
)

const (
	maxHeader  = 64 << 10 // bytes that are read as YAML; longer ones are still lines of text
	maxGrown   = 1000     // nodes that aliases may make of a header
	nearName   = 1        // letters between a name and one that it imitates; 2 from farLetters on
	farLetters = 9
)

// header judges the header of a SKILL.md by its structure.
func (f *file) header(text string) {
	if !isMarkdown(f.name) || !strings.EqualFold(path.Base(f.name), "SKILL.md") {
		return
	}
	src := []byte(text)
	parts := skill.Split(src)
	if !parts.HasHeader || parts.Header.End-parts.Header.Start > maxHeader {
		return
	}
	base := parts.HeaderLine
	var doc yaml.Node
	if yaml.Unmarshal(src[parts.Header.Start:parts.Header.End], &doc) != nil || len(doc.Content) == 0 {
		return
	}
	root := doc.Content[0]
	if n := grown(root, map[*yaml.Node]int{}, 0); n > maxGrown {
		f.out = append(f.out, f.built("ST114", base, 1, fmt.Sprintf("the header becomes more than %d values", maxGrown)))
	}
	f.doubles(root, base, 0)
	if root.Kind != yaml.MappingNode {
		return
	}
	for i := 0; i+1 < len(root.Content); i += 2 {
		key, value := root.Content[i], root.Content[i+1]
		f.key(strings.ToLower(key.Value), value, base+value.Line-1)
	}
}

func (f *file) key(key string, value *yaml.Node, line int) {
	switch key {
	case "name":
		f.named(value.Value, line)
	case "allowed-tools", "allowed_tools", "allowedtools", "tools":
		if tool := broad(value); tool != "" {
			f.out = append(f.out, f.built("PM101", line, value.Column, tool))
		}
	case "hooks":
		f.hooks(value, line, 0)
	}
	if value.Kind == yaml.ScalarNode && forges(value.Value) {
		f.out = append(f.out, f.built("PI101", line, value.Column, value.Value))
	}
}

var forged = regexp.MustCompile(`(?i)</?\s*(?:available_skills?|skills?|skill_list|system|assistant|user|developer|instructions?|tool_?(?:result|call|use)?s?|function_(?:calls|results)|description|name|location|context|system-reminder|important)\s*>|<\|(?:im_start|im_end|system|user|assistant|endoftext|eot_id|start_header_id)[^>]*\|?>|\[/?inst\]|<<sys>>`)

// forges reports whether a value of the header has tags that close what a catalogue
// wraps it in, or that stand for a turn of the conversation.
func forges(value string) bool {
	for _, tag := range forged.FindAllString(value, 8) {
		if strings.HasPrefix(tag, "</") || !strings.HasPrefix(tag, "<") || strings.HasPrefix(tag, "<|") || strings.HasPrefix(tag, "<<") ||
			slices.Contains([]string{"<system>", "<assistant>", "<system-reminder>", "<available_skills>", "<important>"}, strings.ToLower(tag)) {
			return true
		}
	}
	return false
}

// grown counts the nodes of a tree with its aliases written out, up to the bound.
func grown(n *yaml.Node, sizes map[*yaml.Node]int, depth int) int {
	if depth > 100 {
		return maxGrown + 1
	}
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	if size, ok := sizes[n]; ok {
		return size
	}
	sizes[n] = maxGrown + 1 // a value that holds itself
	total := 1
	for _, c := range n.Content {
		if total += grown(c, sizes, depth+1); total > maxGrown {
			total = maxGrown + 1
			break
		}
	}
	sizes[n] = total
	return total
}

// doubles finds keys that stand twice in a mapping.
func (f *file) doubles(n *yaml.Node, base, depth int) {
	if depth > 32 {
		return
	}
	seen := map[string]bool{}
	for i, c := range n.Content {
		if n.Kind == yaml.MappingNode && i%2 == 0 {
			if seen[c.Value] {
				f.out = append(f.out, f.built("ST115", base+c.Line-1, c.Column, c.Value))
			}
			seen[c.Value] = true
			continue
		}
		f.doubles(c, base, depth+1)
	}
}

// broad returns the entry of a tool list that stands for every shell command.
func broad(value *yaml.Node) string {
	var list []string
	if value.Kind == yaml.SequenceNode {
		for _, c := range value.Content {
			list = append(list, c.Value)
		}
	} else {
		list = strings.FieldsFunc(value.Value, func(r rune) bool { return r == ',' || r == ' ' })
	}
	for _, tool := range list {
		switch strings.ToLower(strings.ReplaceAll(tool, " ", "")) {
		case "bash", "bash(*)", "bash(*:*)", "shell", "shell(*)", "*":
			return tool
		}
	}
	return ""
}

// hooks tells every command of the hooks; what it does is for the patterns.
func (f *file) hooks(n *yaml.Node, line, depth int) {
	if depth > 16 {
		return
	}
	for i, c := range n.Content {
		if n.Kind == yaml.MappingNode && i%2 == 0 {
			if strings.EqualFold(c.Value, "command") && i+1 < len(n.Content) {
				f.out = append(f.out, f.built("HK101", line, 0, n.Content[i+1].Value))
			}
			continue
		}
		f.hooks(c, line, depth+1)
	}
}

// named judges a skill's name: letters of two scripts, and closeness to a name that
// many know.
func (f *file) named(name string, line int) {
	for _, w := range words(name) {
		if imitates(w) {
			f.out = append(f.out, f.built("UN009", line, 0, fmt.Sprintf("%s reads as %s", name, fold.Skeleton(name))))
			return
		}
	}
	handle := fold.Handle(name)
	if known := imitated(handle); known != "" {
		f.out = append(f.out, f.built("SC101", line, 0, handle+" is close to "+known))
	}
}

var installs = regexp.MustCompile(`\b(?:pip3?|npm|pnpm|yarn|uv\s+pip)\s+(?:install|i|add)\s+((?:-\S+\s+)*[\w@./=<>~^ \[\]-]+)|\b(?:npx|uvx|bunx)\s+(?:-\w+\s+)*([\w@./-]+)`)

// packages finds packages that are installed under a name that is almost a well-known one.
func (f *file) packages(lines []line) {
	for i := range lines {
		l := &lines[i]
		if !strings.Contains(l.low, "install") && !strings.Contains(l.low, "npx") && !strings.Contains(l.low, "uvx") && !strings.Contains(l.low, " add ") {
			continue
		}
		for _, m := range installs.FindAllStringSubmatch(l.low, 4) {
			for _, word := range strings.Fields(m[1] + " " + m[2]) {
				name, _, _ := strings.Cut(strings.TrimLeft(word, "-@"), "@")
				if known := imitated(strings.TrimRight(strings.Split(name, "=")[0], "<>~[]")); known != "" && word[0] != '-' && !strings.Contains(name, "/") {
					f.out = append(f.out, f.built("SC102", l.no, 0, name+" is close to "+known))
				}
			}
		}
	}
}

// wellKnown is the list of names that others imitate.
var wellKnown = sync.OnceValue(func() []string {
	src, err := shipped.ReadFile("rules/names.txt")
	if err != nil {
		return nil
	}
	var names []string
	for l := range strings.Lines(string(src)) {
		if l = strings.TrimSpace(l); l != "" && l[0] != '#' {
			names = append(names, l)
		}
	}
	return names
})

// imitated returns the well-known name that the handle, or a part of it, is almost.
func imitated(handle string) string {
	known := wellKnown()
	for _, part := range append(strings.Split(handle, "-"), handle) {
		if len(part) < 6 || slices.Contains(known, part) {
			continue
		}
		limit := nearName
		if len(part) >= farLetters {
			limit = 2
		}
		for _, k := range known {
			if len(k) < 6 || part[0] != k[0] || plural(part, k) {
				continue
			}
			if d := fold.Distance(part, k, limit); d > 0 && d <= limit && !ordinary(part) {
				return k
			}
		}
	}
	return ""
}

// ordinary reports whether a word of the language only happens to be close to a name.
func ordinary(word string) bool {
	switch word {
	case "nation", "option", "strike", "strife", "strips", "empress", "goggle", "annular", "windows", "window", "teller", "crypto", "locker", "cursors", "customer", "clause", "clouds", "momento":
		return true
	}
	return false
}

// plural reports whether two words differ by an ending of ordinary language.
func plural(a, b string) bool {
	if len(a) > len(b) {
		a, b = b, a
	}
	rest, ok := strings.CutPrefix(b, a)
	return ok && len(rest) <= 2
}
