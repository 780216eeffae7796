package gate

// The codes of a Decision. Scripts match on them; a code never changes its meaning.
const (
	CodeUnknownTool   = "unknown_tool"      // the tool is not registered, or not shown to this caller
	CodeBadArgs       = "bad_args"          // the arguments are not what the tool's schema takes
	CodeBadPath       = "bad_path"          // a path that means something else than it says
	CodePathDenied    = "path_denied"       // a path that no tool may touch
	CodeOutside       = "outside_workspace" // a path that the file tools cannot reach
	CodeRuleDeny      = "rule_deny"         // a deny rule of some layer matches
	CodeSkillRefuses  = "skill_restricts"   // an active skill's tool lists refuse the tool
	CodeHookDeny      = "hook_deny"         // a hook refuses the call
	CodeHookFailed    = "hook_failed"       // a hook that has to be heard before the call failed
	CodeHookLoop      = "hook_loop"         // hooks kept changing the arguments
	CodeHookAsk       = "hook_ask"          // asked: a hook wants a person asked
	CodeCeiling       = "ceiling"           // the tier is above the turn's ceiling
	CodePlanMode      = "plan_mode"         // plan mode runs READ_ONLY tools alone
	CodeStageDiscover = "stage_discover"    // an autonomous turn without a later stage than discover
	CodeStageCeiling  = "stage_ceiling"     // the tier is above what the turn's stages allow, where they bound every call
	CodeManualOnly    = "manual_only"       // MANUAL_ONLY in an autonomous turn
	CodeNoGrant       = "no_grant"          // an autonomous call above READ_ONLY that no grant covers
	CodeGrant         = "grant"             // allowed: a person granted it in advance, and the use is counted
	CodeReadOnly      = "read_only"         // allowed: it changes nothing
	CodeRuleAsk       = "rule_ask"          // asked: an ask rule of some layer matches
	CodeRule          = "rule"              // allowed: rules of a person cover the call
	CodeSkill         = "skill"             // allowed: an active, granted skill approved it in advance
	CodeOverride      = "tier_override"     // of a row: the configuration sets a tool's tier
	CodeRemembered    = "remembered"        // allowed: the person said yes for this session
	CodeFirstUse      = "first_use"         // asked: first use of a CONFIRM_ONCE key
	CodeEachCall      = "each_call"         // asked: ALWAYS_CONFIRM
	CodeManual        = "manual"            // asked: MANUAL_ONLY, by typing the tool's name
	CodeNoAnswerer    = "no_answerer"       // a question that nobody is there to answer
	CodeDontAsk       = "dont_ask"          // a question in the mode that asks none
	CodeRefused       = "denied"            // the person said no
	CodeAnswered      = "answered"          // allowed: the person said yes to this very call
	CodeAnsweredTwice = "answered_already"  // the question was answered before, dropped, or never put
	CodeExpired       = "confirm_expired"   // the answer came after the question's ten minutes
	CodeBadAnswer     = "bad_answer"        // an answer of the wrong session, nonce or kind
	CodeTooMany       = "too_many_pending"  // sixteen questions of the session are open
	CodeUnavailable   = "gate_unavailable"  // the record cannot be written, or the context has ended
	bypassFlagAuto    = "flag_auto"         // BypassedBy: the person's --auto answered
)
