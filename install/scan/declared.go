package scan

import (
	"path"
	"regexp"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/deftskills/deft/skill"
)

// deed is what a script does that a skill should say.
type deed struct {
	file          string
	network, exec int // line that does it; 0 = none
	what          [2]string
}

var (
	usesNetwork = regexp.MustCompile(`requests\.(?:post|put|get|request)\(|httpx\.|urlopen\(|aiohttp\.|http\.client|urllib3|socket\.(?:socket|create_connection)\(|\bfetch\(\s*["'\x60]http|axios\.|https?\.request\(|net\.connect|\bcurl\s+-|\bwget\s+|invoke-webrequest|invoke-restmethod|net/http|smtplib|websocket`)
	startsThing = regexp.MustCompile(`subprocess\.|os\.system\(|os\.popen\(|os\.exec|child_process|execsync\(|spawn\(|pty\.spawn|exec\.command\(|shell_exec\(|process\.start`)
	saysNetwork = regexp.MustCompile(`https?://|\bapis?\b|\bhttp|network|internet|online|download|upload|fetch|request|server|\bweb|endpoint|remote|cloud|\burl|webhook|sync|publish|deploy|slack|github|email|\bsend|\bpost\b|\bcrawl|scrap|browser|search|联网|网络|接口|下载|上传`)
	saysExec    = regexp.MustCompile(`\b(?:bash|shell|terminal|execute|subprocess|command|cli|run)`)
)

// note keeps the page of the skill, and what its scripts do.
func (t *tree) note(name, text string) {
	low := lower(text)
	if strings.EqualFold(path.Base(name), "SKILL.md") && (t.page == "" || !strings.Contains(name, "/")) {
		t.page = text
		return
	}
	if lang := language(name, text); lang == "" {
		return
	}
	d := deed{file: name}
	d.network, d.what[0] = firstLine(low, text, usesNetwork)
	d.exec, d.what[1] = firstLine(low, text, startsThing)
	if d.network+d.exec > 0 && len(t.deeds) < 256 {
		t.deeds = append(t.deeds, d)
	}
}

func firstLine(low, text string, re *regexp.Regexp) (int, string) {
	const most = 256 << 10 // bytes; a longer script has long said what it does
	low = low[:min(len(low), most)]
	at := re.FindStringIndex(low)
	if at == nil {
		return 0, ""
	}
	from := strings.LastIndexByte(low[:at[0]], '\n') + 1
	to := len(text)
	if i := strings.IndexByte(text[from:], '\n'); i >= 0 {
		to = from + i
	}
	return 1 + strings.Count(low[:from], "\n"), text[from:to]
}

// undeclared compares what scripts do with what the page and its header say.
func (t *tree) undeclared() {
	if t.page == "" {
		return
	}
	page := lower(t.page)
	tools, listed := toolsOf(t.page)
	for _, d := range t.deeds {
		f := t.at(d.file)
		if d.network > 0 && !saysNetwork.MatchString(page) {
			t.add(f.built("MM101", d.network, 0, d.what[0]))
		}
		if d.exec > 0 && (listed && !strings.Contains(tools, "bash") && !strings.Contains(tools, "shell") && !strings.Contains(tools, "run") && !strings.Contains(tools, "exec") ||
			!listed && !saysExec.MatchString(page)) {
			t.add(f.built("MM102", d.exec, 0, d.what[1]))
		}
	}
}

// toolsOf returns the tools that a header asks for, in lower case, and whether it says so.
func toolsOf(page string) (string, bool) {
	src := []byte(page)
	parts := skill.Split(src)
	var head map[string]yaml.Node
	if !parts.HasHeader || parts.Header.End-parts.Header.Start > maxHeader || yaml.Unmarshal(src[parts.Header.Start:parts.Header.End], &head) != nil {
		return "", false
	}
	v, ok := head["allowed-tools"]
	if !ok {
		return "", false
	}
	var b strings.Builder
	b.WriteString(v.Value)
	for _, c := range v.Content {
		b.WriteString(" " + c.Value)
	}
	return strings.ToLower(b.String()), true
}
