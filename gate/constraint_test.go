package gate

import (
	"encoding/json"
	"testing"
)

func TestConstraints(t *testing.T) {
	t.Parallel()
	const args = `{"amount":100,"exact":0.1,"big":9007199254740993,"to":"alice","yes":true,"none":null,` +
		`"order":{"id":"order-7","lines":[{"n":3},{"n":-2.50}]},"a.b":1,"a/b":2,"":3,"note":"NaN"}`
	v, err := parseArgs(json.RawMessage(args))
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		where string
		holds bool
	}{
		{"amount<=100", true}, {"amount<100", false}, {"amount>100", false}, {"amount>=101", false}, {"amount<=99.9", false}, {"amount>=100", true}, {"amount>=100.000", true}, {"amount>99.999999999999999999", true},
		{"amount=1e2", true}, {"amount!=100.0", false}, {"amount!=101", true}, {"amount = 100", true},
		{`amount="100"`, false}, {`amount!="100"`, false}, {"amount<=1e2", true}, {"amount<100.00000000000000000001", true},
		{"exact=0.1", true}, {"exact<0.1000000000000000001", true}, {"big=9007199254740992", false}, {"big>9007199254740992", true},
		{"to=alice", true}, {"to = alice", true}, {`to="alice"`, true}, {"to=Alice", false}, {"to!=bob", true}, {"to!=alice", false},
		{`to in ["bob","alice"]`, true}, {`to in ["bob"]`, false}, {`amount in [1,100.0]`, true}, {`amount in ["100"]`, false}, {`to in []`, false},
		{"to prefix al", true}, {"to prefix li", false}, {`to prefix ""`, true},
		{"yes=true", true}, {"yes!=false", true}, {`yes="true"`, false}, {"none=null", true}, {"none!=1", false},
		{"missing!=1", false}, {"missing=null", false}, {"missing<1", false}, {"order.missing=1", false}, {"to.x=1", false},
		{"to!=true", false}, {"yes!=alice", false}, {"none!=x", false}, {"amount!=true", false}, {`amount prefix ""`, false}, {`none prefix ""`, false}, {`yes prefix ""`, false},
		{"to.x=null", false}, {"order.lines.9=null", false}, {"order.lines.n=null", false}, {"order.x.y=null", false}, {"to.x!=1", false},
		{"order.id prefix order-", true}, {"/order/id=order-7", true}, {"order.lines.0.n=3", true}, {"order.lines.1.n>=-2.5", true},
		{"order.lines.2.n=3", false}, {"order.lines.-1.n=3", false}, {"order.lines.00.n=3", false}, {"order.lines.+0.n=3", false}, {"order.lines.n=3", false},
		{"/a.b=1", true}, {"a.b=1", false}, {"/a~1b=2", true}, {"/=3", true},
		{"note<1", false}, {"note>1", false}, {"note=NaN", true},
		{`order={"lines":[{"n":3.0},{"n":-2.5}],"id":"order-7"}`, true}, {`order.lines=[]`, false},
	}
	for _, tt := range tests {
		c, err := ParseWhere(tt.where)
		if err != nil {
			t.Errorf("%s: %v", tt.where, err)
			continue
		}
		if got := c.holds(v.(map[string]any)); got != tt.holds {
			t.Errorf("%s (%s): %v", tt.where, c, got)
		}
		if again, err := ParseWhere(c.String()); err != nil || again.holds(v.(map[string]any)) != tt.holds {
			t.Errorf("%s: written as %s it is another: %v", tt.where, c, err)
		}
	}
}

func TestConstraintsThatCannotBeMeant(t *testing.T) {
	t.Parallel()
	for _, where := range []string{
		"", "amount", "<=100", "amount<=x", "amount<", `amount<"1"`, "amount~1", "to in x", "to in 1", "to prefix 1", "a..b=1", ".=1", "a<=1e999", "a in [1",
	} {
		if c, err := ParseWhere(where); err == nil {
			t.Errorf("%q was read as %+v", where, c)
		}
	}
	for _, c := range []Constraint{
		{Path: "a", Op: "~", Value: json.RawMessage("1")}, {Path: "a", Op: "", Value: json.RawMessage("1")},
		{Path: "", Op: "=", Value: json.RawMessage("1")}, {Path: "a", Op: "=", Value: json.RawMessage("")},
		{Path: "a", Op: "=", Value: json.RawMessage(`{"b":1,"b":1}`)}, {Path: "a", Op: "=", Value: json.RawMessage("1e999999999")},
	} {
		if c.holds(map[string]any{"a": json.Number("1"), "": json.Number("1")}) || c.valid() == nil {
			t.Errorf("%+v holds or is valid", c)
		}
	}
}

func TestArgumentsWithoutAConstraint(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		args  string
		paths [][]string
		want  bool
	}{
		{`{}`, nil, false}, {`{"a":1}`, nil, true}, {`{"a":1}`, [][]string{{"a"}}, false}, {`{"a":1,"b":null}`, [][]string{{"a"}}, true},
		{`{"a":{"b":1}}`, [][]string{{"a", "b"}}, false}, {`{"a":{"b":1,"c":2}}`, [][]string{{"a", "b"}}, true},
		{`{"a":{"b":1,"c":2}}`, [][]string{{"a"}}, false}, {`{"a":{}}`, nil, true}, {`{"a":[]}`, nil, true},
		{`{"a":[1,2]}`, [][]string{{"a", "0"}}, true}, {`{"a":[1,2]}`, [][]string{{"a", "1"}, {"a", "0"}}, false},
		{`{"a":1}`, [][]string{{"a", "b"}}, true}, {`{"a":1}`, [][]string{{}}, true},
	} {
		v, err := parseArgs(json.RawMessage(tt.args))
		if err != nil {
			t.Fatal(err)
		}
		if got := unbound(v, nil, tt.paths); got != tt.want {
			t.Errorf("%s with %v: %v", tt.args, tt.paths, got)
		}
	}
}
