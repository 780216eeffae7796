package minimax

// lines are the lines of the suite, by group and in their order: the id of a line is the
// letter of its group and its place, from 1, in two digits.
var lines = map[string]string{
	"S": `eleven-roots-in-order default-priorities unset-is-zero root-ids-carry-path kinds
		dedupe-by-kind-path-scope legacy-agent-names blank-agent-name exclude-agent-resources
		blank-workspace data-directory-environment external-disabled one-source-disabled priority-overridden
		priority-not-finite legacy-source-id new-id-beats-legacy wrong-types-fall-back-alone
		unknown-source-ignored duplicate-warn-inert every-bundled-candidate-is-a-root
		config-file-in-data-directory`,
	"W": `up-to-git-directory git-file-stops git-by-existence-only no-git-discards-ancestors walk-up-off
		start-not-resolved home-is-no-stop bonus-thousandths nearness-within-one-source
		far-minimax-beats-near-claude near-wins-on-equal-priorities home-as-workspace`,
	"L": `immediate-children-only nested-skill-files-private exact-file-name no-ignore-list
		child-without-skill-silent missing-root-warns sorted-by-real-path linked-root-each-workspace-source
		linked-child-out-of-root two-roots-one-directory linked-child-takes-target-name
		skill-file-link-refused broken-cyclic-file-links bounded-root-without-flag bounded-linked-root
		retarget-after-refresh skill-file-is-directory changed-during-read unchanged-not-re-read
		permission-denied`,
	"P": `full-header name-falls-back-to-directory name-trimmed name-unrestricted numeric-name-is-absent
		title-from-heading heading-in-fence-counts level-two-ignored description-first-paragraph
		description-stops-at-heading description-missing no-header-is-recorded unclosed-header invalid-yaml
		not-a-mapping empty-header bom-defeats-header crlf-header trailing-blank-after-fence
		listed-literal-false requires-beta-forms locale-maps other-keys-inert folded-description
		data-dir-placeholder data-dir-unset data-dir-in-bundled-file plugin-strict-needs-header
		plugin-strict-description plugin-name-falls-back plugin-expected-name plugin-agent-skills-fields
		plugin-alias-limit wrapped-description`,
	"A": `kind-before-priority agent-beats-user-and-global claude-home-beats-data-directory
		builtin-always-last seeded-beats-bundled tie-by-location name-exact-case losers-kept
		no-duplicate-diagnostic legacy-ambiguity canonical-resolves-ambiguity disabled-winner-hides-name
		unlisted-winner-hides-name snapshot-shape all-codes`,
	"B": `first-start-seeds second-start-writes-nothing changed-fingerprint-wipes
		edit-in-place-survives-until-change missing-directory-reseeds marker-last leftovers-removed
		first-source-wins-per-name no-readable-source build-and-run-fingerprints-agree fingerprint-details
		retired-not-seeded gate-by-tools region-gate capability-owned cli-profile gate-exempts-user-copies
		unknown-id-gated selection-list build-exclusion-list skill-creator-names-the-places`,
	"C": `filter-order mcp-duplicate-hidden selector-comparison extension-selector-spares-builtins beta-flag
		plugins-appended-after-filtering render-format empty-is-empty sorted-by-name-protected-first
		description-one-line-1024 budget-two-percent budget-without-window counted-with-o200k count-fallback
		fits-whole soft-notice-first builtins-before-others one-code-point-pass forward-scan-eight-misses
		floor-fallback hard-overflow omission-notice-costs-nothing wrapper-too-big late-names-dropped
		flags-reported cut-mid-word-no-ellipsis last-layer-of-the-prompt protected-by-name-only`,
	"T": `schema found location-encoded no-location not-found-is-normal same-answer-for-all-absences
		trimmed-and-blank slash-not-stripped exact-case-standalone plugin-normalised
		standalone-before-plugin ambiguous-raises description-demands aborted repeat-loads-again
		no-file-listing cu-desktop-needs-mode`,
	"U": `command-per-enabled-skill skipped-names sorted-by-name submitted-verbatim reminder-precedes-text
		reminder-case-insensitive reminder-only-at-start reminder-first-message-decides reminder-pattern
		reminder-unknown-name body-never-inlined panel-groups panel-badge panel-subtitle panel-row
		panel-width-50 panel-empty panel-esc panel-read-only init-command roster-merge
		roster-one-source-fails disabled-state-format disabled-state-malformed disabled-by-location
		management-paging delete-rules file-list`,
	"X": `debounce-200 max-wait-1000 one-in-flight linked-directory-without-skill-watched
		replaced-directory-re-armed late-root watcher-error subscriber-panic registry-lru`,
}
