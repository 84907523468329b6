package generatecontent

import (
	"bytes"
	"strings"
)

// aliases maps the other spellings of members to the one the codec reads. The
// vendor's JSON mapping takes a member in lowerCamelCase and in the snake_case of
// its definition, and its Python SDK sends the latter; _responseJsonSchema is how
// earlier SDKs spelled responseJsonSchema.
var aliases = aliasTable(
	"systemInstruction", "generationConfig", "toolConfig", "safetySettings", "cachedContent", "serviceTier",
	"continuationToken", "modelArmorConfig", "generateContentRequest",
	"inlineData", "fileData", "functionCall", "functionResponse", "executableCode", "codeExecutionResult",
	"toolCall", "toolResponse", "thoughtSignature", "videoMetadata", "partMetadata", "mediaResolution",
	"mediaProcessing", "speechMetadata", "audioTranscription", "mimeType", "fileUri", "displayName",
	"willContinue", "partialArgs",
	"functionDeclarations", "parametersJsonSchema", "responseJsonSchema", "responseSchema",
	"googleSearch", "googleSearchRetrieval", "codeExecution", "urlContext", "fileSearch", "computerUse",
	"googleMaps", "enterpriseWebSearch", "mcpServers", "parallelAiSearch", "exaAiSearch",
	"functionCallingConfig", "allowedFunctionNames", "streamFunctionCallArguments", "retrievalConfig",
	"includeServerSideToolInvocations",
	"topP", "topK", "maxOutputTokens", "candidateCount", "stopSequences", "presencePenalty", "frequencyPenalty",
	"responseLogprobs", "responseMimeType", "responseModalities", "responseFormat", "speechConfig", "imageConfig",
	"thinkingConfig", "thinkingBudget", "thinkingLevel", "includeThoughts",
	"voiceConfig", "prebuiltVoiceConfig", "voiceName", "languageCode", "multiSpeakerVoiceConfig",
)

// opaque are the members whose values are the caller's own JSON: no name inside
// them is the protocol's.
var opaque = map[string]bool{
	"args": true, "response": true, "parameters": true, "parametersJsonSchema": true,
	"responseSchema": true, "responseJsonSchema": true, "partMetadata": true, "labels": true,
}

func aliasTable(names ...string) map[string]string {
	table := map[string]string{
		"_responseJsonSchema":   "responseJsonSchema",
		"_response_json_schema": "responseJsonSchema",
	}
	for _, name := range names {
		var snake strings.Builder
		for _, c := range name {
			if c >= 'A' && c <= 'Z' {
				snake.WriteByte('_')
				c += 'a' - 'A'
			}
			snake.WriteRune(c)
		}
		table[snake.String()] = name
	}
	return table
}

// camelCase returns the body with known members in the spelling the codec reads;
// the body itself when none has another. A member given in both spellings is then
// a duplicate, which decoding refuses. What is not JSON comes out as something
// that is not JSON either.
func camelCase(body []byte) []byte {
	var out []byte
	copied := 0
	for i := 0; i < len(body); {
		quote := bytes.IndexByte(body[i:], '"')
		if quote < 0 {
			break
		}
		start := i + quote
		end := stringEnd(body, start)
		if end < 0 {
			break
		}
		if i = skipSpace(body, end); i == len(body) || body[i] != ':' {
			continue // a value
		}
		name := body[start+1 : end-1]
		if to, ok := aliases[string(name)]; ok {
			out = append(append(out, body[copied:start+1]...), to...)
			copied = end - 1
			name = []byte(to)
		}
		i++
		if opaque[string(name)] {
			i = valueEnd(body, skipSpace(body, i))
		}
	}
	if out == nil {
		return body
	}
	return append(out, body[copied:]...)
}

// stringEnd is the offset behind the string that starts at start, or -1.
func stringEnd(body []byte, start int) int {
	for i := start + 1; ; {
		quote := bytes.IndexByte(body[i:], '"')
		if quote < 0 {
			return -1
		}
		i += quote + 1
		escapes := 0
		for body[i-2-escapes] == '\\' {
			escapes++
		}
		if escapes%2 == 0 {
			return i
		}
	}
}

// valueEnd is the offset behind the value at i. Scalars other than strings hold
// no name and need no skipping.
func valueEnd(body []byte, i int) int {
	depth := 0
	for i < len(body) {
		switch body[i] {
		case '"':
			end := stringEnd(body, i)
			if end < 0 {
				return len(body)
			}
			i = end
		case '{', '[':
			depth++
			i++
		case '}', ']':
			depth--
			i++
		default:
			i++
		}
		if depth <= 0 {
			return i
		}
	}
	return i
}

func skipSpace(body []byte, i int) int {
	for i < len(body) && (body[i] == ' ' || body[i] == '\n' || body[i] == '\t' || body[i] == '\r') {
		i++
	}
	return i
}

// Spelled returns the spelling of a member that the codec reads and writes.
func (Codec) Spelled(name string) string {
	if known, ok := aliases[name]; ok {
		return known
	}
	return name
}
