package skill

import "fmt"

// roomCodes are the codes of the other rooms: one table for all, so that a code has
// one meaning wherever it is read. Fixes that depend on the case are written where the
// diagnostic is made.
var roomCodes = []CodeSpec{
	// Lock files of installed skills.
	{"lock_damaged", LevelWarning, "mend or remove the file, then run deft verify"},
	// source: places, links, files.
	{"data_content", LevelError, "give the definition a content"},
	{"data_effect", LevelWarning, "correct the definition"},
	{"env_type", LevelWarning, "make the value a text"},
	{"data_duplicate", LevelWarning, "give each definition a name of its own"},
	{"version_damaged_blob", LevelError, "restore the stored file from a backup, or publish the version again"},
	{"file_ignored", LevelInfo, "remove or rename the file that is not read"},
	{"path_variable", LevelWarning, "set the variable or write the path out"},
	{"root_unreadable", LevelWarning, "allow reading of the directory or remove it from the sources"},
	{"root_skill_file", LevelWarning, "move it into a folder of its own"},
	{"too_deep", LevelWarning, "move the skill nearer to its root"},
	{"dangling", LevelWarning, "remove the link or restore its target"},
	{"link_cycle", LevelWarning, "remove the link"},
	{"link_outside", LevelWarning, "copy the target into the project or add its folder as a source"},
	{"link_not_directory", LevelInfo, "remove the link or point it at a skill folder"},
	{"limit_walk", LevelWarning, "point the source at a smaller tree or raise the limit"},
	{"limit_root", LevelWarning, "split the root or raise the limit"},
	{"root_outside_project", LevelWarning, "confirm the directory as a source of your own"},
	{"client_unknown", LevelWarning, "see the list of clients"},
	{"path_glob", LevelWarning, "write a valid pattern"},
	// source: the same as dialects know it.
	{"nested_ignored", LevelWarning, "move it beside the folder that holds it"},
	{"link_file", LevelWarning, "replace the link by the file"},
	{"skill_directory_link_unreadable", LevelWarning, "remove the link or restore its target"},
	{"skill_directory_link_not_directory", LevelWarning, "remove the link or point it at a skill folder"},
	{"skill_outside_root", LevelWarning, "copy the target into the root"},
	{"skill_symlink_rejected", LevelWarning, "replace the link by the file"},
	{"skill_file_not_file", LevelWarning, "make it a readable regular file"},
	{"skill_stat_failed", LevelWarning, "make it a readable regular file"},
	{"skill_file_unreadable", LevelWarning, "make it a readable regular file"},
	{"skill_read_failed", LevelError, "make it a readable regular file"},
	{"skill_changed_during_read", LevelWarning, ""},
	// source: plugins.
	{"plugin_empty", LevelError, "add a skill, a server or a hook to the plugin, or remove it"},
	{"plugin_manifest", LevelError, "correct the manifest"},
	{"plugin_bad_path", LevelError, "name a place inside the plugin"},
	{"plugin_removable", LevelInfo, "remove the folder"},
	{"plugin_same_skill", LevelWarning, "say the plugin's name before the skill's"},
	{"command_shadowed", LevelWarning, "rename the command or the skill"},
	{"plugin_name", LevelWarning, "give the plugin a name of letters, digits and hyphens"},
	// registry: arbitration.
	{"copies_differ", LevelWarning, "remove or rename one of the two"},
	{"duplicate", LevelInfo, "remove one of the two copies"},
	{"id_duplicate", LevelWarning, "give one of the two another id"},
	{"plugin_prefix_clash", LevelWarning, "use the longer addresses, or remove one of the two plugins"},
	{"switch_unknown", LevelWarning, "correct the name or remove the entry"},
	{"profile_unknown", LevelWarning, "choose another profile or add it to profiles"},
	{"name_lookalike", LevelWarning, "rename one"},
	{"typed_only", LevelInfo, "drop one of disable-model-invocation and user-invocable: false"},
	{"source_failed", LevelWarning, "report it to the author of the source"},
	{"limit_packages", LevelWarning, "start another session for the other packages"},
	{"refresh_failed", LevelWarning, "see whether the folders can be read"},
	{"watch_degraded", LevelWarning, "raise the system's limit of watches"},
	{"index_rebuilt", LevelInfo, ""},
	// route, search, catalog.
	{"route_limit_patterns", LevelWarning, "use fewer keywords"},
	{"co_activate_unknown", LevelWarning, "correct the id"},
	{"limit_search_skills", LevelWarning, "search the others in a scope of their own"},
	{"search_body_truncated", LevelInfo, "move detail to references/"},
	{"search_reference_skipped", LevelInfo, "make it a readable text file"},
	{"search_file_skipped", LevelInfo, "make it a readable text file"},
	{"search_stale_hit", LevelInfo, "search again after a refresh"},
	{"search_empty_query", LevelInfo, "use words that tell skills apart"},
	{"search_query_truncated", LevelInfo, "ask with fewer words"},
	{"catalog_name_too_long", LevelWarning, "shorten the name; the skill still loads by it"},
	{"catalog_budget_too_small", LevelError, "raise the budget"},
	{"names_over_budget", LevelWarning, "raise the budget, or switch skills off"},
	{"skills_omitted", LevelWarning, "raise the budget, or switch skills off"},
	{"catalog_text_cleaned", LevelInfo, "remove control and invisible characters from name and description"},
	// session: effects of a loaded skill.
	{"tools_pattern", LevelWarning, "write it as Tool or Tool(what it may do)"},
	{"model_unknown", LevelWarning, "configure the model, or take the key out"},
	{"env_forbidden", LevelWarning, "choose another name"},
	{"dir_unquotable", LevelWarning, "move the skill to a folder without such a character"},
	{"argument_reserved", LevelWarning, "choose another name"},
	{"fork_agent_without_context", LevelWarning, "add context: fork, or take agent out"},
	{"fork_inline", LevelWarning, "run it in a host with sub-agents"},
	{"scenario_invalid", LevelWarning, "correct the file, or take it away"},
	{"agent_invalid", LevelWarning, "correct the file, or take it away"},
	{"paths_pattern", LevelWarning, "write a glob such as src/**/*.go"},
	{"untrusted_effect_dropped", LevelWarning, "trust the skill to let it count"},
	// command: the shell field, commands in texts, hooks.
	{"shell_type", LevelError, "write true, false, all, a program, a prefix, a list of prefixes, or an object with known values"},
	{"shell_key", LevelWarning, "use enabled, allowlist, program, on_error, timeout or parallel"},
	{"shell_all_ignored", LevelWarning, "list the commands that the skill needs"},
	{"hook_event", LevelWarning, "use an event of the table"},
	{"hook_type", LevelWarning, "use append_prompt, append_result, deny, ask, notify or command"},
	{"hook_pair", LevelWarning, "use a type that the event has"},
	{"hook_value", LevelWarning, "correct the value of the hook"},
	{"hook_limit", LevelWarning, "use fewer hooks"},
	{"hook_matcher", LevelWarning, "write names, with | between them and * for any text"},
	{"hook_ignored", LevelInfo, ""},
	{"hook_off", LevelWarning, "turn hooks.commands on in your own settings, or use a source that may bring hooks"},
	{"inline_block_ignored", LevelInfo, "write the command as !`…` if it should run"},
	// builtin: seeding.
	{"seed_failed", LevelWarning, "make the folder writable"},
	// settings and evaluation.
	{"config_value", LevelWarning, "correct the value"},
	{"config_unknown", LevelWarning, "remove the key"},
	{"config_unreadable", LevelWarning, "correct the file"},
	{"project_config_ignored", LevelWarning, "trust the folder"},
	// mcpskills: servers of tools.
	{"mcp_server_unavailable", LevelWarning, "look at what the server says, or take it out of mcp.servers"},
	{"mcp_server_unapproved", LevelWarning, "look at it with deft mcp list, then deft mcp approve NAME"},
	{"mcp_tool_schema_refused", LevelWarning, "have the server's author shorten or correct the schema"},
	{"mcp_tool_duplicate", LevelWarning, "have the server's author rename one of them"},
	{"mcp_tool_changed", LevelWarning, "look at the tool before you allow it again"},
	{"mcp_tools_cut", LevelWarning, "have the server offer fewer tools"},
	// telemetry: what nobody received.
	{"telemetry_lost", LevelWarning, "correct the OTEL_ variables, or take them out"},
	// gate: what rules for tools cannot do.
	{"gate_bad_rule", LevelError, "write it as Tool or Tool(what it may do)"},
	{"gate_rule_url", LevelWarning, "write WebFetch(domain:HOST)"},
	{"gate_broad_grant", LevelWarning, "name the commands that need no approval"},
	{"trust_drift", LevelWarning, "look at it again with deft trust"},
	{"gate_tier_override", LevelWarning, "write it in your own config.yaml, with a reason"},
	{"store_xdg_relative", LevelWarning, "set it to an absolute path"},
	// store: the state of a machine.
	{"store_damaged", LevelError, "run deft doctor --fix, then trust again what you trusted"},
	{"store_conflict", LevelError, "try again: others changed the same rows at once"},
	{"store_superuser", LevelWarning, "use a role that is not superuser, has no BYPASSRLS and owns the database"},
	{"store_unavailable", LevelError, "look whether the server of the database runs and can be reached; deft doctor tells"},
	{"store_busy", LevelError, "try again when the other process has finished"},
	{"store_read_only", LevelError, "allow writing there, or keep state elsewhere"},
	{"store_newer_schema", LevelError, "use the newer release"},
	{"store_dir_open", LevelError, "take the right to write from others"},
	{"store_full", LevelError, "free some space"},
	{"store_dsn", LevelError, "write sqlite: and an absolute path"},
	{"store_unreadable", LevelError, "make it a readable regular file"},
	{"store_mode", LevelWarning, "take the right to read from others"},
	{"store_no_wal", LevelWarning, "keep state on a local disk"},
	{"store_schema", LevelInfo, ""},
	{"store_set_aside", LevelInfo, "delete it when you miss nothing"},
	{"blob_digest", LevelError, "write sha256: and 64 hexadecimal digits"},
	{"blob_missing", LevelError, "restore the stored file from a backup, or install or publish again"},
	{"blob_damaged", LevelError, "restore the stored file from a backup, or install or publish again"},
	{"blob_too_large", LevelError, "make the file smaller"},
	{"versions_unknown_version", LevelError, "choose one of the versions that there are"},
	{"versions_bad_transition", LevelError, "publish it before it is archived, pinned or given a channel"},
	{"versions_label_taken", LevelError, "choose another label"},
	{"publish_no_skill_md", LevelError, "add a SKILL.md at the top"},
	{"publish_bad_name", LevelError, "rename the file to one part of a path"},
	{"publish_duplicate_path", LevelError, "rename or remove one of the two"},
	{"publish_bad_node", LevelError, "correct the file or folder"},
	{"publish_bad_base64", LevelError, "encode the bytes again, padded and without white space"},
	{"publish_not_regular", LevelError, "replace it by a regular file of the skill"},
	{"publish_blocked", LevelError, "correct what is named, then publish again"},
	{"profile_cycle", LevelError, "take one of the extends out"},
	{"evals_unbalanced", LevelWarning, "add requests that look alike and need something else"},
	{"eval_bad_case", LevelError, "write one JSON object a line"},
}

// Finding returns the diagnostic of a code about a file, with the level and the fix of
// the table. A code that is not in the table is an error without a fix; a test of the
// project finds it.
func Finding(code, file, format string, args ...any) Diagnostic {
	d := Diagnostic{Code: code, Level: LevelError, File: file, Offset: -1, Message: fmt.Sprintf(format, args...)}
	if c, ok := LookupCode(code); ok {
		d.Level, d.Fix = c.Level, c.Fix
	}
	return d
}
