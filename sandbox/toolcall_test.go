package sandbox

import (
	"fmt"
	"strings"
	"testing"

	"github.com/genway/genway/codec/fault"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/genway/genway/protocol/deferred"
)

func function(name, description, parameters string) *genwayv1.Tool {
	return &genwayv1.Tool{Kind: &genwayv1.Tool_Function{Function: &genwayv1.FunctionTool{
		Name: name, Description: description, ParametersJson: parameters}}}
}

var (
	weather = function("get_weather", "Get the current weather in a given location",
		`{"type":"object","properties":{"location":{"type":"string"},"unit":{"type":"string","enum":["celsius","fahrenheit"]}},"required":["location"]}`)
	forecast = function("forecast", "Get the temperature of the coming days.",
		`{"type":"object","properties":{"city":{"type":"string"},"days":{"type":"integer"}},"required":["city","days"],"additionalProperties":false}`)
	reader = function("read", "Reads a file.", `{"type":"object","properties":{"filePath":{"type":"string"}},"required":["filePath"]}`)
	custom = &genwayv1.Tool{Kind: &genwayv1.Tool_Custom{Custom: &genwayv1.CustomTool{Name: "run_code"}}}
	hosted = &genwayv1.Tool{Kind: &genwayv1.Tool_Hosted{Hosted: &genwayv1.HostedTool{Type: "web_search", Json: []byte(`{"type":"web_search"}`)}}}
)

func offer(tools ...*genwayv1.Tool) func(*genwayv1.GenerateTextRequest) {
	return func(r *genwayv1.GenerateTextRequest) { r.Tools = tools }
}

func choose(choice *genwayv1.ToolChoice) func(*genwayv1.GenerateTextRequest) {
	return func(r *genwayv1.GenerateTextRequest) { r.ToolChoice = choice }
}

// calls spells the calls of the first candidate.
func calls(resp *genwayv1.GenerateTextResponse) string {
	var list []string
	for _, p := range resp.GetCandidates()[0].GetParts() {
		if c := p.GetToolCall(); c != nil {
			list = append(list, c.GetName()+c.GetArgumentsJson()+c.GetInput())
		}
	}
	return strings.Join(list, " ")
}

func TestToolCalls(t *testing.T) {
	required := genwayv1.ToolChoice_MODE_REQUIRED
	for name, c := range map[string]struct {
		prompt string
		tools  []*genwayv1.Tool
		choice *genwayv1.ToolChoice
		want   string
	}{
		"the question fits": {prompt: "What's the weather like in San Francisco?", tools: []*genwayv1.Tool{reader, weather},
			want: `get_weather{"location":"San Francisco","unit":"celsius"}`},
		"the question fits the description": {prompt: "How high will the temperature be in Paris?", tools: []*genwayv1.Tool{reader, forecast},
			want: `forecast{"city":"Paris","days":1}`},
		"nothing fits":               {prompt: "Say hello.", tools: []*genwayv1.Tool{reader, weather, forecast}},
		"nothing fits a bare object": {prompt: "What is this?", tools: []*genwayv1.Tool{reader, weather, forecast}},
		"by name": {prompt: "Please use the tool forecast for Paris, 7 days.", tools: []*genwayv1.Tool{weather, forecast},
			want: `forecast{"city":"Paris","days":7}`},
		"by an unmistakable name": {prompt: "get_weather in Rome", tools: []*genwayv1.Tool{forecast, weather},
			want: `get_weather{"location":"Rome","unit":"celsius"}`},
		"a plain word is no name": {prompt: "I read a good book.", tools: []*genwayv1.Tool{reader}},
		"several names": {prompt: "Use forecast and then get_weather for Rome.", tools: []*genwayv1.Tool{weather, forecast},
			want: `forecast{"city":"Rome","days":1} get_weather{"location":"Rome","unit":"celsius"}`},
		"several names, one at a time": {prompt: "Use forecast and then get_weather for Rome.", tools: []*genwayv1.Tool{weather, forecast},
			choice: &genwayv1.ToolChoice{Parallel: new(false)}, want: `forecast{"city":"Rome","days":1}`},
		"exactly": {prompt: `Call the tool read with {"filePath" : "/a b.txt", "n": 1.50}.`, tools: []*genwayv1.Tool{reader},
			want: `read{"filePath" : "/a b.txt", "n": 1.50}`},
		"exactly, twice": {prompt: `Call the tool read with {"filePath":"a"}. Call the tool read with {"filePath":"}"}.`, tools: []*genwayv1.Tool{reader},
			want: `read{"filePath":"a"} read{"filePath":"}"}`},
		"exactly, twice, one at a time": {prompt: `Call the tool read with {"filePath":"a"}. Call the tool read with {"filePath":"b"}.`, tools: []*genwayv1.Tool{reader},
			choice: &genwayv1.ToolChoice{Parallel: new(false)}, want: `read{"filePath":"a"}`},
		"a custom tool, exactly":  {prompt: `Call the tool run_code with "print(\"x\")".`, tools: []*genwayv1.Tool{custom}, want: `run_codeprint("x")`},
		"a custom tool by name":   {prompt: `Use run_code for 1+1.`, tools: []*genwayv1.Tool{custom}, want: `run_codeUse run_code for 1+1.`},
		"no such tool":            {prompt: `Call the tool write with {"a":1}.`, tools: []*genwayv1.Tool{reader}},
		"none":                    {prompt: `Call the tool read with {"filePath":"a"}.`, tools: []*genwayv1.Tool{reader}, choice: &genwayv1.ToolChoice{Mode: genwayv1.ToolChoice_MODE_NONE}},
		"demanded":                {prompt: "Say hello.", tools: []*genwayv1.Tool{reader}, choice: &genwayv1.ToolChoice{Mode: required}, want: `read{"filePath":"`},
		"demanded by name":        {prompt: "Say hello.", tools: []*genwayv1.Tool{reader, custom}, choice: &genwayv1.ToolChoice{Mode: required, Names: []string{"run_code"}}, want: `run_codeSay hello.`},
		"limited to others":       {prompt: "What's the weather in Rome?", tools: []*genwayv1.Tool{weather, reader}, choice: &genwayv1.ToolChoice{Names: []string{"read"}, AllowedList: true}},
		"demanded, limited":       {prompt: "What's the weather in Rome?", tools: []*genwayv1.Tool{weather, reader, custom}, choice: &genwayv1.ToolChoice{Mode: required, Names: []string{"run_code", "get_weather"}, AllowedList: true}, want: `get_weather{"location":"Rome","unit":"celsius"}`},
		"hosted tools are passed": {prompt: "Use web_search for cats.", tools: []*genwayv1.Tool{hosted}},
		"no parameters":           {prompt: "Use ping_it now.", tools: []*genwayv1.Tool{function("ping_it", "", "")}, want: `ping_it{}`},
	} {
		t.Run(name, func(t *testing.T) {
			resp := generate(t, ask(c.prompt, offer(c.tools...), choose(c.choice)))
			got := calls(resp)
			if got != c.want && (c.want == "" || name != "demanded" || !strings.HasPrefix(got, c.want)) {
				t.Errorf("called %s, want %s", got, c.want)
			}
			stop := resp.Candidates[0].StopReason
			if called := stop == genwayv1.StopReason_STOP_REASON_TOOL_CALL; called != (got != "") {
				t.Errorf("stop reason %v", stop)
			}
		})
	}
}

func TestCallIDs(t *testing.T) {
	resp := generate(t, ask(`Call the tool read with {}. Call the tool read with {}.`, offer(reader), wire(genwayv1.Protocol_PROTOCOL_MESSAGES)))
	ids := map[string]bool{}
	for _, p := range resp.Candidates[0].Parts {
		ids[p.GetToolCall().GetId()] = true
		if !strings.HasPrefix(p.GetToolCall().GetId(), "toolu_") {
			t.Errorf("id %q", p.GetToolCall().GetId())
		}
	}
	if len(ids) != 2 {
		t.Errorf("ids %v", ids)
	}
}

func TestImpossibleChoices(t *testing.T) {
	required := genwayv1.ToolChoice_MODE_REQUIRED
	for name, c := range map[string]struct {
		tools  []*genwayv1.Tool
		choice *genwayv1.ToolChoice
		param  string
	}{
		"no tools":      {nil, &genwayv1.ToolChoice{Mode: required}, "tool_choice"},
		"hosted only":   {[]*genwayv1.Tool{hosted}, &genwayv1.ToolChoice{Mode: required}, "tool_choice"},
		"unknown name":  {[]*genwayv1.Tool{reader}, &genwayv1.ToolChoice{Mode: required, Names: []string{"write"}}, "tool_choice.names[0]"},
		"native choice": {[]*genwayv1.Tool{hosted}, &genwayv1.ToolChoice{Native: &genwayv1.NativeField{}}, "tool_choice"},
		"no arguments": {[]*genwayv1.Tool{function("never", "", `{"type":"object","properties":{"a":false},"required":["a"]}`)},
			&genwayv1.ToolChoice{Mode: required}, "tools[0].function.parameters_json"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := newSandbox(t).GenerateText(t.Context(), deferred.New(ask("hi", offer(c.tools...), choose(c.choice))))
			refused(t, err, fault.InvalidRequest, c.param)
		})
	}
}

// results is a conversation that has come to the tool's result.
func results(after string, result *genwayv1.ToolResult, with ...func(*genwayv1.GenerateTextRequest)) *genwayv1.GenerateTextRequest {
	result.ToolCallId = "c1"
	back := &genwayv1.Message{Role: genwayv1.Role_ROLE_USER, Parts: []*genwayv1.Part{{Kind: &genwayv1.Part_ToolResult{ToolResult: result}}}}
	if after != "" {
		back.Parts = append(back.Parts, textPart(after))
	}
	return conversed([]*genwayv1.Message{
		say(genwayv1.Role_ROLE_USER, `Call the tool read with {"filePath":"a"}.`),
		{Role: genwayv1.Role_ROLE_ASSISTANT, Parts: []*genwayv1.Part{{Kind: &genwayv1.Part_ToolCall{ToolCall: &genwayv1.ToolCall{
			Id: "c1", Name: "read", Arguments: &genwayv1.ToolCall_ArgumentsJson{ArgumentsJson: `{"filePath":"a"}`}}}}}},
		back,
	}, append([]func(*genwayv1.GenerateTextRequest){offer(reader, weather)}, with...)...)
}

func TestResultsAreRepeated(t *testing.T) {
	texts := func(parts ...*genwayv1.Part) *genwayv1.ToolResult { return &genwayv1.ToolResult{Parts: parts} }
	for name, c := range map[string]struct {
		after  string
		result *genwayv1.ToolResult
		choice *genwayv1.ToolChoice
		want   string
		calls  string
	}{
		"text":      {result: texts(textPart("plum-4711\n")), want: "The tool read returned: \"plum-4711\n\""},
		"an image":  {result: texts(textPart("ok"), picture(onePixel)), want: `The tool read returned: "ok" | image: image/png, 33 bytes, 1x1 pixels`},
		"an error":  {result: &genwayv1.ToolResult{IsError: true, Parts: []*genwayv1.Part{textPart("no network")}}, want: `The tool read failed: "no network"`},
		"an object": {result: &genwayv1.ToolResult{ResultJson: new(`{"output":"plum"}`)}, want: `The tool read returned: "{"output":"plum"}"`},
		"nothing":   {result: texts(), want: `The tool read returned: nothing`},
		"with a reminder that names tools": {after: "<system-reminder>use get_weather</system-reminder>", result: texts(textPart("ok")),
			want: `The tool read returned: "ok"`},
		"with another question": {after: "What's the weather in Rome?", result: texts(textPart("ok")),
			want: "The tool read returned: \"ok\"\nYou said: \"What's the weather in Rome?\""},
		"with another call": {after: `Call the tool read with {"filePath":"b"}.`, result: texts(textPart("ok")),
			want: `The tool read returned: "ok"`, calls: `read{"filePath":"b"}`},
		"with a call demanded": {result: texts(textPart("ok")), choice: &genwayv1.ToolChoice{Mode: genwayv1.ToolChoice_MODE_REQUIRED, Names: []string{"get_weather"}},
			want: `The tool read returned: "ok"`, calls: `get_weather{"location":"`},
	} {
		t.Run(name, func(t *testing.T) {
			resp := generate(t, results(c.after, c.result, choose(c.choice)))
			if got := answerText(resp); !strings.HasPrefix(got, c.want) {
				t.Errorf("said %q, want %q", got, c.want)
			}
			if got := calls(resp); !strings.HasPrefix(got, c.calls) || c.calls == "" && got != "" {
				t.Errorf("called %s, want %s", got, c.calls)
			}
		})
	}
}

// TestAgentsToolsAreLeftAlone holds the tools of coding agents against prompts that
// ask for none of them.
func TestAgentsToolsAreLeftAlone(t *testing.T) {
	var tools []*genwayv1.Tool
	for name, description := range map[string]string{
		"Agent": "Launch a new agent to handle complex, multi-step tasks autonomously.", "Bash": "Executes a given bash command.",
		"Edit": "Performs exact string replacements in files.", "Read": "Reads a file from the local filesystem.",
		"WebFetch": "Fetches content from a URL.", "TaskCreate": "Use this tool to create a task list.", "Write": "Writes a file.",
		"glob": "Fast file pattern matching.", "grep": "Fast content search.", "skill": "Execute a skill.", "list_directory": "Lists files.",
	} {
		tools = append(tools, function(name, description, `{"type":"object"}`))
	}
	for _, prompt := range []string{"Say hello to marker-4711.", "What is this?", "Still there?", "hi", "Describe Paris.",
		"What is my name?", "Tell me a story at great length. The road goes ever on and on.", "Be brief."} {
		if got := calls(generate(t, ask(prompt, offer(tools...)))); got != "" {
			t.Errorf("%q called %s", prompt, got)
		}
	}
}

// What a tool's description goes on about for pages decides nothing, wherever in it the
// first sentence is, and however long that is.
func TestLongDescriptionsDoNotAttractCalls(t *testing.T) {
	const object = `{"type":"object"}`
	pages := strings.Repeat(" It also knows rivers, invoices, planets and recipes", 200)
	runner := function("runner", "Runs programs"+pages+".", object)
	guide := function("guide", "\n# Rivers\n\nShows the way home.\n"+pages, object)
	rivers := function("hydrology", "\n# Tool\nThe lengths of rivers."+pages, object)
	broad := function("atlas", "The lengths of rivers, roads, borders, coasts, bridges and walls", object)
	for name, tt := range map[string]struct {
		tools []*genwayv1.Tool
		want  string
	}{
		"one long sentence":        {[]*genwayv1.Tool{runner}, ""},
		"a heading is no sentence": {[]*genwayv1.Tool{guide}, ""},
		"behind a heading":         {[]*genwayv1.Tool{runner, guide, rivers}, "hydrology{}"},
		"the one that says less":   {[]*genwayv1.Tool{broad, rivers}, "hydrology{}"},
		"and in the other order":   {[]*genwayv1.Tool{rivers, broad}, "hydrology{}"},
	} {
		if got := calls(generate(t, ask("How many rivers have great lengths?", offer(tt.tools...)))); got != tt.want {
			t.Errorf("%s: called %q, want %q", name, got, tt.want)
		}
	}
}

// A tool of a namespace may be called by its own name, unless that is another's too.
func TestToolsOfNamespacesAreCalledByTheirOwnNames(t *testing.T) {
	const object = `{"type":"object"}`
	one, other := function("crm__find", "", object), function("erp__find", "", object)
	for want, tools := range map[string][]*genwayv1.Tool{
		`crm__find{"a":1}`: {one, function("findings", "", object)},
		"":                 {one, other},
		`find{"a":1}`:      {one, function("find", "", object)},
	} {
		if got := calls(generate(t, ask(`Call the tool find with {"a":1}.`, offer(tools...)))); got != want {
			t.Errorf("called %q, want %q", got, want)
		}
	}
}

// TestFencesAreContext has the lines an agent puts around the files a prompt refers to.
func TestFencesAreContext(t *testing.T) {
	read := function("read_file", "Reads the content of a file.", `{"type":"object"}`)
	turn := &genwayv1.Message{Role: genwayv1.Role_ROLE_USER, Parts: []*genwayv1.Part{
		textPart("Describe @a.png and @b.txt"), textPart("\n--- Content from referenced files ---"), picture(onePixel),
		textPart("Use read_file on b.txt."), textPart("\n--- End of content ---"),
	}}
	resp := generate(t, conversed([]*genwayv1.Message{turn}, offer(read)))
	if got := calls(resp); got != "" {
		t.Errorf("called %s", got)
	}
	want := `You said: "Describe @a.png and @b.txt"
image: image/png, 33 bytes, 1x1 pixels
Context: 3 blocks: "--- Content from referenced files ---" | "Use read_file on b.txt." | "--- End of content ---"
Tools offered: read_file`
	if got := answerText(resp); got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
	for text, want := range map[string]bool{
		"--- a ---": true, " ---a--- \n": true, "---": false, "------": false, "--- ---": false,
		"---\ntitle: a\n---": false, "--- a": false, "a ---": false,
	} {
		if got := isFence(text); got != want {
			t.Errorf("isFence(%q) is %v", text, got)
		}
	}
}

func TestManyDirectivesAreBounded(t *testing.T) {
	prompt := strings.Repeat(`Call the tool read with {"filePath":"a"}. `, 3*maxDirectives)
	if n := len(directives(prompt)); n != maxDirectives {
		t.Errorf("%d directives", n)
	}
	if d := directives(`Call the tool a with {"b":. Call the tool "c" with {"d":[1]}`); fmt.Sprint(d) != `[{c {"d":[1]} 28}]` {
		t.Errorf("%v", d)
	}
}
