package skill

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
)

const tenLines = `name: release-notes
description: Write release notes from merged changes, grouped and summarised. Use when a release is near.
license: MIT
version: 1.4.0
allowed-tools: Read, Grep, Bash(git log *)
disable-model-invocation: false
argument-hint: "[tag]"
metadata:
  author: someone
  category: writing
`

var plainFile = []byte("---\n" + tenLines + "---\n# Release notes\n\n" + strings.Repeat("Read the log and write what changed.\n", 70))

func BenchmarkFastPath(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if readFast(tenLines, 2, testLimits) == nil {
			b.Fatal("not taken")
		}
	}
}

func BenchmarkLibraryPath(b *testing.B) {
	b.ReportAllocs()
	h := headerText{text: tenLines, first: 2, limits: testLimits}
	for b.Loop() {
		if _, why := h.library(tenLines); why != nil {
			b.Fatal(why.message)
		}
	}
}

func BenchmarkParse(b *testing.B) {
	for _, c := range []struct {
		name string
		src  []byte
	}{
		{"plain-3k", plainFile},
		{"library-3k", append([]byte("---\n# a comment\n"), plainFile[4:]...)},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(c.src)))
			for b.Loop() {
				if !Parse(c.src, ParseOptions{Path: "x/SKILL.md", DirName: "release-notes"}).Valid {
					b.Fatal("invalid")
				}
			}
		})
	}
}

func BenchmarkSubstituteWithoutForms(b *testing.B) {
	text := strings.Repeat("Read the log and write what changed, for US$ and € alike.\n", 350)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		Substitute(text, map[string]string{"ARGUMENTS": "a b", "0": "a", "1": "b"}, SubstituteOptions{Declares: true, SkipCode: true})
	}
}

// BenchmarkHeapOfSkill reports the live bytes of one parsed plain skill.
func BenchmarkHeapOfSkill(b *testing.B) {
	const n = 2000
	for b.Loop() {
		kept := make([]*Skill, n)
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		for i := range kept {
			kept[i] = Parse(plainFile, ParseOptions{Path: fmt.Sprint(i), DirName: "release-notes"})
		}
		runtime.GC()
		runtime.ReadMemStats(&after)
		b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/n, "bytes/skill")
		runtime.KeepAlive(kept)
	}
}
