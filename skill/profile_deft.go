package skill

import "strings"

// deftRaised are the codes that a load reports as warnings and deft's own verdict as
// errors: what was repaired, guessed or will surprise on another host.
func deftRaised(code string) bool {
	switch code {
	case "recovered_colon", "recovered_brackets", "recovered_indicator", "recovered_quotes",
		"comment_in_value", "header_missing", "description_missing", "bool_invalid", "value_enum",
		"tool_pattern_unbalanced", "key_typo",
		"name_length", "name_case", "name_chars", "name_hyphens", "name_directory":
		return true
	}
	return false
}

// judgeDeft reads leniently and says strictly what that needed.
func judgeDeft(v *verdict) {
	s := Parse(v.in.Source, ParseOptions{
		Dialect: Deft, Limits: v.in.Limits, Path: v.in.Path, DirName: v.in.DirName, Sidecars: v.in.Sidecars,
	})
	for _, d := range s.Diagnostics {
		if deftRaised(d.Code) || d.Code == "description_long" && runes(s.Description) > v.in.Limits.Description {
			d.Level = LevelError
		}
		v.found = append(v.found, d)
	}
	v.props = Properties{Name: s.Name, Description: s.Description}
	if !s.Valid {
		return
	}
	v.props.Body = strings.TrimSpace(NormaliseBody(string(v.in.Source[s.Body.Start:s.Body.End])))
	for _, f := range []struct {
		to   **string
		text string
	}{{&v.props.License, s.Meta.License}, {&v.props.Compatibility, s.Meta.Compatibility}} {
		if f.text != "" {
			*f.to = &f.text
		}
	}
	if l := s.Meta.AllowedTools; l.Declared {
		joined := strings.Join(l.Entries, " ")
		v.props.AllowedTools = &joined
	}
}

// firstProse is the paragraph that stands in for a missing description.
func firstProse(v *verdict) string {
	text, _ := paragraph([]byte(v.body))
	return text
}
