package skill

import "slices"

// CodeSpec describes one diagnostic code. A code has one meaning in the whole of
// deft and is never reused for another.
type CodeSpec struct {
	Code  string // snake_case, [a-z0-9_]+
	Level Level  // the level that a load reports; a profile of Validate may raise it
	Fix   string // imperative phrase, "" when there is nothing to do; a capital word stands for a value
}

// codes is the one table of diagnostic codes. A room adds its own block here, in
// the order in which its work happens; tests keep it free of doubles.
var codes = []CodeSpec{
	// The file and its bytes.
	{"file_name", LevelWarning, "rename to SKILL.md"},
	{"file_empty", LevelError, "write a header and a body"},
	{"not_utf8", LevelError, "save as UTF-8 without NUL"},
	{"nul_byte", LevelError, "save as UTF-8 without NUL"},
	{"bom", LevelInfo, "save without byte order mark"},
	{"file_unreadable", LevelError, "make it a readable regular file"},
	{"file_special", LevelError, "make it a readable regular file"},
	{"changed_during_read", LevelWarning, ""},
	{"drift", LevelWarning, ""},
	{"limit_file", LevelError, "shorten; move detail to references/"},
	{"limit_header", LevelError, "shorten; move detail to references/"},
	{"limit_nodes", LevelError, "shorten; move detail to references/"},
	{"limit_depth", LevelError, "shorten; move detail to references/"},
	// The fences.
	{"header_missing", LevelWarning, "add a header with name and description"},
	{"header_unclosed", LevelError, "add a line `---` after the last key"},
	{"header_language", LevelError, "write a plain `---` line"},
	{"body_empty", LevelWarning, "write the instructions"},
	{"frontmatter_missing", LevelInfo, "add a header with name and description"},
	{"frontmatter_unclosed", LevelError, "add a line `---` after the last key"},
	{"frontmatter_invalid_yaml", LevelWarning, "correct the header"},
	{"missing_title", LevelWarning, "add title"},
	{"missing_description", LevelWarning, "add description"},
	{"missing_name", LevelError, "add name"},
	{"frontmatter_not_mapping", LevelWarning, "write `key: value` lines"},
	// The header as YAML.
	{"yaml_syntax", LevelError, "correct the line"},
	{"yaml_tab", LevelError, "indent with blanks"},
	{"yaml_duplicate_key", LevelError, "remove one of the two"},
	{"yaml_not_mapping", LevelError, "write `key: value` lines"},
	{"yaml_documents", LevelError, "write `key: value` lines"},
	{"yaml_alias", LevelError, "write the value out"},
	{"yaml_merge", LevelError, "write the value out"},
	{"yaml_tag", LevelError, "write the value out"},
	{"recovered_colon", LevelWarning, "quote the value"},
	{"recovered_brackets", LevelWarning, "quote the value"},
	{"recovered_indicator", LevelWarning, "quote the value"},
	{"recovered_quotes", LevelWarning, "quote the value"},
	{"comment_in_value", LevelWarning, "quote the value"},
	// Keys and values.
	{"key_unknown", LevelInfo, ""},
	{"key_typo", LevelWarning, "did you mean KEY"},
	{"key_foreign", LevelWarning, "this host ignores it"},
	{"key_alias_conflict", LevelWarning, "keep one spelling or place"},
	{"block_conflict", LevelWarning, "keep one spelling or place"},
	{"sidecar_conflict", LevelWarning, "keep one spelling or place"},
	{"type_mismatch", LevelWarning, "write TYPE"},
	{"bool_invalid", LevelWarning, "write true or false"},
	{"value_enum", LevelWarning, "one of LIST"},
	{"value_range", LevelWarning, "between A and B"},
	{"value_empty", LevelWarning, "fill it or remove the key"},
	{"hint_brackets", LevelInfo, "quote the value"},
	{"metadata_not_string", LevelInfo, "write a string"},
	{"locale_value", LevelInfo, "write a string"},
	{"tool_pattern_unbalanced", LevelWarning, "close the parenthesis"},
	{"tool_unresolved", LevelWarning, "correct the name"},
	{"placeholder_unknown", LevelInfo, "correct the name"},
	{"id_invalid", LevelWarning, "write a valid id"},
	{"keyword_empty", LevelWarning, "remove the keyword"},
	{"sidecar_invalid", LevelWarning, "correct the file"},
	// Identity and selection text.
	{"name_missing", LevelWarning, "add name: DIRECTORY"},
	{"name_length", LevelWarning, "rename to HANDLE"},
	{"name_case", LevelWarning, "rename to HANDLE"},
	{"name_chars", LevelWarning, "rename to HANDLE"},
	{"name_hyphens", LevelWarning, "rename to HANDLE"},
	{"name_mark", LevelInfo, "the reference validator refuses it"},
	{"name_directory", LevelWarning, "rename the directory or the name"},
	{"name_unsafe", LevelWarning, "use letters, digits, hyphens"},
	{"handle_collision", LevelWarning, "rename one"},
	{"description_missing", LevelWarning, "add description"},
	{"description_derived", LevelInfo, "add description"},
	{"description_long", LevelWarning, "shorten"},
	// Verdicts of hosts, beyond what a load reports.
	{"path_missing", LevelWarning, "correct the path or create the directory"},
	{"path_not_directory", LevelError, "give the skill's directory"},
	{"skill_file_missing", LevelError, "write SKILL.md"},
	{"name_reserved", LevelError, "choose another name"},
	{"SKILL_SCHEMA_INVALID", LevelError, ""}, // the one code of a host's plugins, as they are known to spell it
	// Advice to authors.
	{"prompt_long", LevelWarning, "move detail to references/"},
	{"body_over_standard", LevelWarning, "move detail to references/"},
	{"description_vague", LevelWarning, "name the action and the trigger"},
	{"description_angle", LevelInfo, "one upload host refuses it"},
	{"description_markup", LevelWarning, "write a plain sentence"},
	{"description_duplicate", LevelWarning, "tell them apart"},
	{"tools_many", LevelWarning, "two skills in one"},
	{"tool_unused", LevelInfo, "list only the tools it uses"},
	{"tier_on_skill", LevelError, "remove it: tiers live on tools"},
	{"env_name", LevelWarning, "rename"},
	{"keyword_single", LevelWarning, "choose a longer word"},
	{"provider_without_env", LevelWarning, "declare it"},
	{"keyword_collision", LevelWarning, "choose longer words"},
	{"unroutable", LevelWarning, "add keywords, stages or signal_sources"},
	{"keyword_negated", LevelError, "keep it in one list"},
	{"unreachable", LevelError, "add one"},
	{"link_missing", LevelWarning, "correct the path"},
	{"link_deep", LevelInfo, "flatten"},
	{"nested_skill", LevelInfo, "not a skill of its own"},
	{"secret_in_text", LevelError, "remove it and revoke the key"},
	{"arguments_undeclared", LevelInfo, "declare or escape"},
	{"args_position", LevelWarning, "write \\$N"},
	{"args_base", LevelInfo, "check the base"},
	// Trees: errors for digest and pack.
	{"tree_link_escape", LevelError, "remove or rename"},
	{"tree_special", LevelError, "remove or rename"},
	{"tree_case_clash", LevelError, "remove or rename"},
	{"limit_tree", LevelError, "remove or rename"},
}

// Codes returns the table of every diagnostic code, in the order of the documentation.
func Codes() []CodeSpec { return slices.Concat(codes, roomCodes) }

// LookupCode returns the row of code; ok is false for a code that deft does not have.
func LookupCode(code string) (CodeSpec, bool) {
	c, ok := codeIndex[code]
	return c, ok
}

var codeIndex = buildCodeIndex()

func buildCodeIndex() map[string]CodeSpec {
	m := make(map[string]CodeSpec, len(codes)+len(roomCodes))
	for _, c := range Codes() {
		m[c.Code] = c
	}
	return m
}
