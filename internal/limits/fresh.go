package limits

// What a shortened conversation is given back of its active skills, in tokens.
const (
	FreshSkill = 5000
	FreshTotal = 25_000
)
