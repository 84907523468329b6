package responses

import "github.com/go-json-experiment/json/jsontext"

// wireResponse is the body of an answer (SDK: Response), but for the members
// that only repeat the request.
type wireResponse struct {
	ID                string           `json:"id"`
	CreatedAt         float64          `json:"created_at"`
	Model             string           `json:"model"`
	Status            string           `json:"status"`
	Error             jsontext.Value   `json:"error"`
	IncompleteDetails *wireIncomplete  `json:"incomplete_details"`
	Output            []jsontext.Value `json:"output"`
	Usage             *wireUsage       `json:"usage"`
	ServiceTier       string           `json:"service_tier"`
	Extra             jsontext.Value   `json:",embed"`
}

type wireIncomplete struct {
	Reason string `json:"reason"`
}

// echoes are the members of an answer that repeat the request or follow from the
// rest; an encoder makes them anew.
var echoes = map[string]bool{
	"object": true, "access_programs": true, "instructions": true, "metadata": true,
	"parallel_tool_calls": true, "temperature": true, "tool_choice": true, "tools": true,
	"top_p": true, "background": true, "completed_at": true, "conversation": true,
	"max_output_tokens": true, "max_tool_calls": true, "previous_response_id": true,
	"prompt": true, "prompt_cache_key": true, "prompt_cache_options": true,
	"prompt_cache_retention": true, "reasoning": true, "safety_identifier": true,
	"text": true, "top_logprobs": true, "truncation": true, "user": true, "store": true,
	"frequency_penalty": true, "presence_penalty": true, "output_text": true,
}
