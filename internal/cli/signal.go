package cli

// signalVerb is the verb of events: what stands below it is in files of their own.
func signalVerb() verb {
	return verb{
		name: "signal", args: "fire", max: -1, effects: effects{reads: true},
		short: "events that start turns without a person",
		below: []verb{signalFireVerb()},
	}
}
