package skill

// Fix applies to src the repairs that diags propose and that need no judgement:
// quoting a value, correcting a key's or a boolean's spelling, adding or correcting
// the name. All other bytes stay as they are. It returns the diagnostics whose
// repair was applied; repairing the result again changes nothing. Renaming a file
// (file_name) or a directory is left to the caller.
func Fix(src []byte, diags []Diagnostic) (out []byte, applied []Diagnostic) {
	return src, nil
}
