package limits

// What a shortened conversation is given back of its active skills, in tokens.
const (
	FreshSkill = 5000
	FreshTotal = 25_000
)

// What the path conditions of skills may cost a session.
const (
	TouchedFiles     = 1000 // files that are remembered, the newest
	PathPatterns     = 64   // of one skill
	PathPatternBytes = 512
	PathBraces       = 64 // expansions of one pattern
)

// What one skill may add to prompt and environment.
const (
	SkillPrompt = 16 << 10 // bytes
	EnvNames    = 64
	EnvValue    = 8 << 10 // bytes
)

// What sub-agents may do for a session.
const (
	ForkDepth  = 3        // forked skills in a row
	ForkAnswer = 32 << 10 // bytes of an answer
)

// What a conversation may take on the disk, in bytes.
const (
	LogPart      = 64 << 20  // of one file, before the next begins
	SessionBytes = 256 << 20 // of all, before nothing is added any more
)
