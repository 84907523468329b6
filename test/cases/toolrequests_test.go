package cases_test

import (
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/genway/genway/test/cases/answers"
	"github.com/genway/genway/test/cases/harness"
	"github.com/genway/genway/test/cases/requests"
	"github.com/genway/genway/test/cases/transcript"
)

// toolRequestCases are the cases of what goes to the upstream.
func toolRequestCases() []Case {
	return []Case{
		{"T13", "any, required and ANY are one choice; a named tool stays named", toolChoices},
		{"T14", "a tool type the target does not have is refused by its path where a call of it is demanded, before any call; else it is named (X21)", foreignToolTypes},
		{"T15", "strict is carried", strictTools},
		{"T16", "schemas keep their bytes and tools their order", schemasVerbatim},
		{"T17", "parallel results make one turn, aligned by call; a call without a result, which vendors refuse, gets one that says so", parallelResults},
		{"T18", "tool identifiers fit the upstream's charset and come back as they were", foreignToolIDs},
		{"T19", "a result without its call's identifier is refused by its path", resultWithoutID},
		{"T20", "every form of tool is converted", toolForms},
	}
}

var weather = requests.Tool{Name: "weather", Description: "The weather of a city.", Schema: `{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}`}

func toolChoices(t *testing.T) {
	for _, choice := range []string{"auto", "none", "any", "weather"} {
		everyWay(t, harness.Texts(), harness.Texts(), func(t *testing.T, w way) {
			seen := w.sees(t, requests.Body(w.caller, []string{requests.Tools(w.caller, false, weather), requests.Choice(w.caller, choice)}, requests.User(w.caller, "hi")))
			member := "tool_choice"
			switch w.upstream { //nolint:exhaustive // all others
			case harness.GenerateContent:
				member = "toolConfig"
			case harness.Interactions:
				member = "generation_config.tool_choice"
			}
			want := parse(t, []byte("{"+requests.Choice(w.upstream, choice)+"}"))
			seen.At(member).Is(t, string(want.At(member).Raw))
		})
	}
}

// hosted are tools only their own vendor has, behind a callable one, and the path of the
// type once that one is left out.
var hosted = map[harness.Protocol]struct{ tools, callable, param string }{
	harness.Chat:            {`"tools":[{"type":"function","function":{"name":"a"}},{"type":"code_of_tomorrow","x":1}]`, `{"type":"function","function":{"name":"a"}},`, "tools[0].type"},
	harness.Responses:       {`"tools":[{"type":"function","name":"a","parameters":{},"strict":false},{"type":"web_search"}]`, `{"type":"function","name":"a","parameters":{},"strict":false},`, "tools[0].type"},
	harness.Messages:        {`"tools":[{"name":"a","input_schema":{"type":"object"}},{"type":"web_search_20250305","name":"web_search"}]`, `{"name":"a","input_schema":{"type":"object"}},`, "tools[0].type"},
	harness.GenerateContent: {`"tools":[{"functionDeclarations":[{"name":"a"}]},{"googleSearch":{}}]`, `{"functionDeclarations":[{"name":"a"}]},`, "tools[0]"},
	harness.Interactions:    {`"tools":[{"type":"function","name":"a"},{"type":"google_search"}]`, `{"type":"function","name":"a"},`, "tools[0].type"},
}

// errorMessage is where each protocol's error says what is wrong.
func errorMessage(p harness.Protocol, a harness.Answer) string {
	message := a.JSON().At("error.message").Text()
	if p == harness.Chat || p == harness.Responses {
		message += " (" + a.JSON().At("error.param").Text() + ")"
	}
	return message
}

func foreignToolTypes(t *testing.T) {
	everyWay(t, harness.Texts(), harness.Texts(), func(t *testing.T, w way) {
		body := requests.Body(w.caller, []string{hosted[w.caller].tools}, requests.User(w.caller, "hi"))
		if w.caller == w.upstream {
			list := w.sees(t, body).At("tools").Raw
			if want := strings.TrimPrefix(hosted[w.caller].tools, `"tools":`); string(list) != want {
				t.Errorf("its own upstream sees %s, want %s", list, want)
			}
			return
		}
		if lost := w.lost(t, body); !w.streamed && !strings.Contains(lost, "tools[1]") {
			t.Errorf("lost %q", lost)
		}
		asked := len(w.Upstream(w.upstream).Requests())
		a := w.ask(strings.Replace(requests.Body(w.caller, []string{hosted[w.caller].tools, requests.Choice(w.caller, "any")}, requests.User(w.caller, "hi")), hosted[w.caller].callable, "", 1))
		if a.Status != http.StatusBadRequest || !strings.Contains(errorMessage(w.caller, a), hosted[w.caller].param) {
			t.Errorf("status %d, want 400 naming %s: %s", a.Status, hosted[w.caller].param, a.Body)
		}
		if w.caller == harness.Chat || w.caller == harness.Responses {
			a.JSON().At("error.param").Is(t, strconv.Quote(hosted[w.caller].param))
		}
		if n := len(w.Upstream(w.upstream).Requests()); n != asked {
			t.Errorf("the upstream was asked %d times more", n-asked)
		}
	})
}

func strictTools(t *testing.T) {
	at := map[harness.Protocol]string{harness.Chat: "tools[0].function.strict", harness.Responses: "tools[0].strict", harness.Messages: "tools[0].strict"}
	closed := weather // which each vendor's strict mode takes
	closed.Schema = strings.TrimSuffix(weather.Schema, "}") + `,"additionalProperties":false}`
	everyWay(t, others(harness.GenerateContent, harness.Interactions), harness.Texts(), func(t *testing.T, w way) {
		seen := w.sees(t, requests.Body(w.caller, []string{requests.Tools(w.caller, true, closed)}, requests.User(w.caller, "hi")))
		if w.upstream == harness.Interactions {
			seen.At("generation_config.tool_choice").Is(t, `"validated"`)
			return
		}
		if w.upstream == harness.GenerateContent {
			// The vendor's mode that holds arguments to their schema.
			seen.At("toolConfig.functionCallingConfig.mode").Is(t, `"VALIDATED"`)
			return
		}
		seen.At(at[w.upstream]).Is(t, "true")
	})
}

func schemasVerbatim(t *testing.T) {
	const odd = `{"type":"object","required":["z","a"],"properties":{"z":{"minimum":1.0,"maximum":1e3,"type":"number"},"a":{"type":"string","description":"caf\u00e9 \/ <b> & é"}},"additionalProperties":false,"$comment":"9007199254740993","x":9007199254740993}`
	tools := []requests.Tool{
		{Name: "zeta", Description: "Last first.", Schema: odd},
		{Name: "alpha", Description: "Then the first.", Schema: odd},
		{Name: "mid", Description: "Then the middle.", Schema: `{"type":"object","properties":{}}`},
	}
	everyWay(t, harness.Texts(), harness.Texts(), func(t *testing.T, w way) {
		seen := string(w.sees(t, requests.Body(w.caller, []string{requests.Tools(w.caller, false, tools...)}, requests.User(w.caller, "hi"))).Raw)
		if n := strings.Count(seen, odd); n != 2 {
			t.Errorf("the schema stands %d times in %s", n, seen)
		}
		z, a, m := strings.Index(seen, `"zeta"`), strings.Index(seen, `"alpha"`), strings.Index(seen, `"mid"`)
		if z < 0 || a < z || m < a {
			t.Errorf("the tools are in another order: %s", seen)
		}
	})
}

func parallelResults(t *testing.T) {
	everyWay(t, harness.Texts(), others(harness.Chat, harness.Responses), func(t *testing.T, w way) {
		if w.caller == w.upstream {
			return
		}
		p := w.caller
		two := requests.Call(p, [3]string{"call_a", "weather", paris}, [3]string{"call_b", "time", `{}`})
		for name, results := range map[string][]string{
			"in order":      {requests.Result(p, "call_a", "weather", "sun"), requests.Result(p, "call_b", "time", "noon")},
			"other way":     {requests.Result(p, "call_b", "time", "noon"), requests.Result(p, "call_a", "weather", "sun")},
			"then the user": {requests.Result(p, "call_a", "weather", "sun"), requests.Result(p, "call_b", "time", "noon"), requests.User(p, "and?")},
			"one missing":   {requests.Result(p, "call_a", "weather", "sun")},
		} {
			t.Run(name, func(t *testing.T) {
				seen := w.sees(t, requests.Body(p, nil, append([]string{requests.User(p, "hi"), two}, results...)...))
				aligned(t, w.upstream, seen)
				if missing := strings.Contains(string(seen.Raw), "no result"); missing != (name == "one missing") {
					t.Errorf("a result is missing: %t, in %s", missing, seen.Raw)
				}
			})
		}
	})
	// Where results are separate messages, each one stays with its call.
	everyWay(t, others(harness.Chat), only(harness.Chat), func(t *testing.T, w way) {
		seen := w.sees(t, requests.Body(w.caller, nil, requests.User(w.caller, "hi"), requests.Call(w.caller, [3]string{"call_a", "weather", paris}, [3]string{"call_b", "time", `{}`}),
			requests.Result(w.caller, "call_a", "weather", "sun"), requests.Result(w.caller, "call_b", "time", "noon")))
		if n := len(seen.At("messages[1].tool_calls").List()); n != 2 {
			t.Errorf("%d calls in %s", n, seen.Raw)
		}
		seen.At("messages[2].tool_call_id").Is(t, `"call_a"`)
		seen.At("messages[3].tool_call_id").Is(t, `"call_b"`)
		seen.At("messages[4]").Absent(t)
	})
}

// aligned demands that the turn behind the calls has their results, and no other.
func aligned(t *testing.T, upstream harness.Protocol, seen probeValue) {
	t.Helper()
	turns, parts, call, result := "messages", "content", "id", "tool_use_id"
	if upstream == harness.GenerateContent {
		turns, parts, call, result = "contents", "parts", "functionCall.id", "functionResponse.id"
	}
	const want = 2
	all := 0
	if upstream == harness.Interactions { // a step each, in the order of the calls
		for i := range want {
			all++
			seen.At(fmt.Sprintf("input[%d].call_id", 1+want+i)).Is(t, string(seen.At(fmt.Sprintf("input[%d].id", 1+i)).Raw))
		}
	}
	for i, v := range seen.At(turns + "[2]." + parts).List() {
		id := v.At(result).Text()
		if id == "" {
			continue
		}
		all++
		if made := seen.At(fmt.Sprintf("%s[1].%s[%d].%s", turns, parts, i, call)).Text(); upstream == harness.GenerateContent && id != made {
			t.Errorf("result %d is of %s, its call is %s", i, id, made)
		}
	}
	if all != want || strings.Count(string(seen.Raw), `"tool_result"`)+strings.Count(string(seen.Raw), `"functionResponse"`)+strings.Count(string(seen.Raw), `"function_result"`) != want {
		t.Errorf("%d results behind the calls, want %d: %s", all, want, seen.Raw)
	}
}

var messagesID = regexp.MustCompile(`^[a-zA-Z0-9_-]+$`)

func foreignToolIDs(t *testing.T) {
	const id = "functions.get_weather:0"
	// An upstream of another protocol made the call: the client sees an id it can
	// send anywhere, and the upstream sees its own again.
	everyWay(t, only(harness.Messages), others(harness.Messages), func(t *testing.T, w way) {
		got := w.receive(t, answers.Tool(id, "weather", paris))
		if len(got.Calls) != 1 || !messagesID.MatchString(got.Calls[0].ID) {
			t.Fatalf("calls %q", got.Calls)
		}
		seen := w.sees(t, requests.Body(w.caller, nil, requests.User(w.caller, "hi"), got.Echo, requests.Result(w.caller, got.Calls[0].ID, "weather", "sun")))
		if n := strings.Count(string(seen.Raw), strconv.Quote(id)); n != 2 {
			t.Errorf("its own id stands %d times in %s", n, seen.Raw)
		}
	})
	// A client of another protocol has the call in its history.
	everyWay(t, others(harness.Messages), only(harness.Messages), func(t *testing.T, w way) {
		seen := w.sees(t, requests.Body(w.caller, nil, requests.User(w.caller, "hi"), requests.Call(w.caller, [3]string{id, "weather", paris}), requests.Result(w.caller, id, "weather", "sun")))
		call, result := seen.At("messages[1].content[0].id").Text(), seen.At("messages[2].content[0].tool_use_id").Text()
		if !messagesID.MatchString(call) || call != result {
			t.Errorf("call %q, result %q in %s", call, result, seen.Raw)
		}
	})
	// An upstream without ids: those of ours never reach it.
	everyWay(t, others(harness.GenerateContent), only(harness.GenerateContent), func(t *testing.T, w way) {
		got := w.receive(t, answers.Tool("", "weather", paris))
		if len(got.Calls) != 1 || got.Calls[0].ID == "" {
			t.Fatalf("calls %q", got.Calls)
		}
		seen := w.sees(t, requests.Body(w.caller, nil, requests.User(w.caller, "hi"), got.Echo, requests.Result(w.caller, got.Calls[0].ID, "weather", "sun")))
		seen.At("contents[1].parts[0].functionCall.id").Absent(t)
		seen.At("contents[2].parts[0].functionResponse.id").Absent(t)
		seen.At("contents[2].parts[0].functionResponse.name").Is(t, `"weather"`)
	})
}

func resultWithoutID(t *testing.T) {
	params := map[harness.Protocol]string{harness.Chat: "messages[2].tool_call_id", harness.Responses: "input[2].call_id", harness.Messages: "messages[2].content[0].tool_use_id"}
	everyWay(t, others(harness.GenerateContent), harness.Texts(), func(t *testing.T, w way) {
		result := requests.Result(w.caller, "call_1", "weather", "sun")
		for _, name := range []string{"tool_call_id", "call_id", "tool_use_id"} {
			result = strings.Replace(result, fmt.Sprintf("%q:%q,", name, "call_1"), "", 1)
		}
		a := w.ask(requests.Body(w.caller, nil, requests.User(w.caller, "hi"), requests.Call(w.caller, [3]string{"call_1", "weather", paris}), result))
		if a.Status != http.StatusBadRequest || !strings.Contains(errorMessage(w.caller, a), params[w.caller]) {
			t.Errorf("status %d, want 400 naming %s: %s", a.Status, params[w.caller], a.Body)
		}
		if n := len(w.Upstream(w.upstream).Requests()); n != 0 {
			t.Errorf("the upstream was asked %d times", n)
		}
	})
}

func toolForms(t *testing.T) {
	everyWay(t, harness.Texts(), harness.Texts(), func(t *testing.T, w way) {
		seen := w.sees(t, requests.Body(w.caller, []string{requests.Tools(w.caller, false, weather)}, requests.User(w.caller, "hi")))
		want := requests.Tools(w.upstream, false, weather)
		if w.upstream == harness.Responses && w.caller != harness.Responses {
			// Absent is strict there, and lax everywhere else.
			want = strings.TrimSuffix(want, `}]`) + `,"strict":false}]`
		}
		seen.At("tools").Is(t, strings.TrimPrefix(want, `"tools":`))
	})
	// The definition of a tool whose call is in the answer comes back usable.
	everyWay(t, harness.Texts(), harness.Texts(), func(t *testing.T, w way) {
		w.Upstream(w.upstream).Answer(answers.Tool("call_1", "weather", paris).Answer(w.upstream, w.streamed))
		a := w.ask(requests.Body(w.caller, []string{requests.Tools(w.caller, false, weather)}, requests.User(w.caller, "hi")))
		calls(t, transcript.Read(t, w.caller, a, w.streamed), transcript.Call{ID: "call_1", Name: "weather", Arguments: paris})
	})
}
