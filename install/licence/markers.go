package licence

import "regexp"

// Words that take back, or never gave, the right to keep and pass on a copy. They are
// looked for outside what the classifier knows as a licence: the GPL too says what one
// may not do.
var markers = []*regexp.Regexp{
	regexp.MustCompile(`(?i)\bproprietary\b(\W+\w+){0,12}`),
	regexp.MustCompile(`(?i)\b(may|must|shall|can)\s*not\b[^.;]{0,80}\b(extract|retain|reproduce|cop(y|ies)|redistribut\w*|distribut\w*|sublicen[sc]e|derivative|modify)\b`),
	regexp.MustCompile(`(?i)\b(no|without)\s+(licen[cs]e|right|permission)s?\s+(is|are)\s+(granted|given)\b`),
	regexp.MustCompile(`(?i)\bnot\s+(be\s+)?(permitted|allowed|licensed|authori[sz]ed)\b[^.;]{0,80}\b(copy|reproduc\w*|redistribut\w*|distribut\w*|derivative\w*|modif\w*)\b`),
	regexp.MustCompile(`(?i)\b(cop(y|ying)|reproduction|redistribution|distribution|modification)\b[^.;]{0,60}\b(is|are)\s+(strictly\s+)?(prohibited|forbidden|not\s+(permitted|allowed))\b`),
	regexp.MustCompile(`(?i)\b(confidential|trade\s+secret|internal\s+use\s+only)\b(\W+\w+){0,8}`),
	regexp.MustCompile(`(?i)\bcommons\s+clause\b(\W+\w+){0,8}`),
	regexp.MustCompile(`(?i)\bnon-?\s?commercial\s+(use|purposes?)\s+only\b`),
}

var (
	reserved = regexp.MustCompile(`(?i)\ball\s+rights\s+(are\s+)?reserved\b(\W+\w+){0,8}`)
	grant    = regexp.MustCompile(`(?i)\b(permission\s+is\s+hereby\s+granted|redistribution\s+and\s+use\b[^.]{0,80}permitted|licensed\s+under\s+the|is\s+(released|made available)\s+under|dedicate[sd]?\s+.{0,40}public\s+domain)\b`)
)

// forbids returns the words of a text that forbid, "" where none does. "All rights
// reserved" stands above many a free licence and means something only where nothing is
// granted.
func forbids(text string, granted bool) string {
	for _, m := range markers {
		if words := m.FindString(text); words != "" {
			return words
		}
	}
	if words := reserved.FindString(text); words != "" && !granted && !grant.MatchString(text) {
		return words
	}
	return ""
}
