package cli

// The groups of the short help, in order.
const (
	groupRun   = "run"
	groupSkill = "skills"
	groupModel = "what the model sees"
	groupWrite = "write skills"
	groupHouse = "housekeeping"
)

// verbs lists every verb in the order of the short help.
func verbs() []verb {
	return []verb{
		askVerb(), chatVerb(), resumeVerb(), serveVerb(), cronVerb(), signalVerb(),
		listVerb(), showVerb(), readVerb(), explainVerb(), doctorVerb(),
		addVerb(), removeVerb(), verifyVerb(), outdatedVerb(), updateVerb(), rollbackVerb(), pinVerb(), pluginVerb(),
		enableVerb(), disableVerb(), profileVerb(), trustVerb(), untrustVerb(),
		catalogVerb(), routeVerb(), searchVerb(),
		lintVerb(), scanVerb(), newVerb(), initVerb(), exportVerb(), packVerb(), publishVerb(), versionsVerb(), evalVerb(), docsVerb(),
		configVerb(), migrateVerb(), gateVerb(), grantsVerb(), auditVerb(), statsVerb(), mcpVerb(), versionVerb(), completionVerb(), helpVerb(), manVerb(),
	}
}

// Verbs returns the names of the verbs that the short help lists, in its order.
func Verbs() []string {
	var names []string
	for _, v := range verbs() {
		if v.group != "" {
			names = append(names, v.name)
		}
	}
	return names
}
