package cli

// signalVerb is the verb of events: what stands below it is in files of their own.
func signalVerb() verb {
	return verb{
		name: "signal", args: "fire|list|retry", max: -1, group: groupRun, effects: effects{reads: true}, joins: true,
		short: "events that start turns without a person, and how those ended",
		below: []verb{signalFireVerb(), signalListVerb(), signalRetryVerb()},
	}
}
