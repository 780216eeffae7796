package config

import (
	"path/filepath"
	"regexp"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Scan is what is done about what the scanner finds, and by which rules it looks: scan.
type Scan struct {
	OnBlock string   // scan.on_block: refuse or ask
	OnWarn  string   // scan.on_warn: ask, allow or refuse
	Rules   []string // scan.rules: folders of more rules, absolute or below "~"
	Disable []string // scan.disable: rules that are left out
}

func defaultScan() Scan { return Scan{OnBlock: "refuse", OnWarn: "ask"} }

func (s Scan) settings() []Setting {
	return []Setting{
		{Key: "scan.on_block", Value: s.OnBlock},
		{Key: "scan.on_warn", Value: s.OnWarn},
		{Key: "scan.rules", Value: orEmpty(s.Rules)},
		{Key: "scan.disable", Value: orEmpty(s.Disable)},
	}
}

// scanRule is the form of a rule's id, as the scanner has it.
var scanRule = regexp.MustCompile(`^[A-Z]{2,8}[0-9]{2,4}$`)

// scanKeys are the keys below scan, of the person's own file alone: a project must not say
// how closely its own skills are looked at.
func (l *loader) scanKeys(key string, _, v *yaml.Node) {
	s := &l.config.Scan
	l.mapping(v, key+".", func() table {
		return table{
			"on_block": l.text(&s.OnBlock, oneOf([]string{"refuse", "ask"}), "refuse or ask"),
			"on_warn":  l.text(&s.OnWarn, oneOf([]string{"ask", "allow", "refuse"}), "ask, allow or refuse"),
			"rules": l.list(&s.Rules, func(dir string) bool {
				return filepath.IsAbs(dir) || strings.HasPrefix(dir, "~/")
			}, "an absolute directory, or one below ~"),
			"disable": l.list(&s.Disable, scanRule.MatchString, "the id of a rule, as PM101"),
		}
	})
}
