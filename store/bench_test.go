package store

import (
	"context"
	"fmt"
	"testing"
)

// What a process pays that looks at state once: Open, Load of a usual state, Close.
func BenchmarkOpenAndLoad(b *testing.B) {
	s := open(b)
	fill(b, s)
	if err := s.Close(); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		s, err := Open(context.Background(), Options{DB: s.Path()})
		if err != nil {
			b.Fatal(err)
		}
		load(b, s)
		if err := s.Close(); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkSet(b *testing.B) {
	s := open(b)
	for i := 0; b.Loop(); i++ {
		if err := s.States().Set(context.Background(), SkillState{Name: fmt.Sprint(i % 100), Switch: Off}); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkVersion(b *testing.B) {
	s := open(b)
	fill(b, s)
	for b.Loop() {
		if _, err := s.Version(context.Background()); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkLoad10000(b *testing.B) {
	s := open(b)
	err := s.update(context.Background(), "state.save", func(c *change) error {
		for i := range 10_000 {
			name := fmt.Sprintf("skill-%d", i)
			if err := skillStates().put(c, SkillState{Key: name, Name: name, Switch: Off, Tree: digest(name), UpdatedAt: c.now}); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if st := load(b, s); len(st.Switches) != 10_000 {
			b.Fatal(len(st.Switches))
		}
	}
}
