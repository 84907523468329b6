// Package model writes a tiny language model that llama.cpp runs: a real one by its
// format, of some hundred kilobytes, that says one sentence whatever it is asked. So
// tests of a real engine need no download and know the answer.
//
// It is a llama of one layer whose attention and feed-forward add nothing: a token's
// embedding has a dimension of its own, and the output matrix says for each token
// which comes next. Where a grammar forbids that one (tools, structured output),
// preferences of the characters that end a text, a list or an object take over, so
// that what is generated comes to an end.
package model

import (
	"fmt"
	"strings"
)

// Sentence is what the model says: one token a word.
const Sentence = "I am a very small model and this is all that I know to say."

// Name is the name in the model's metadata.
const Name = "genway-tiny"

const (
	context = 16_384
	heads   = 2
	inner   = 32

	// Token types of GGUF.
	normal, unknown, control, raw = 1, 2, 3, 6
)

// template is how a conversation becomes a prompt: ChatML, with tools in the way that
// llama.cpp learns from templates how a model calls them.
const template = `{%- if tools -%}<|im_start|>system
Call tools as <tool_call>{"name": NAME, "arguments": ARGUMENTS}</tool_call>:
{% for tool in tools %}{{ tool | tojson }}
{% endfor %}<|im_end|>
{% endif -%}
{%- for message in messages -%}<|im_start|>{{ message.role }}
{% if message.content %}{{ message.content }}{% endif -%}
{%- if message.tool_calls -%}{%- for call in message.tool_calls %}
<tool_call>
{"name": "{{ call.function.name }}", "arguments": {{ call.function.arguments | tojson }}}
</tool_call>{%- endfor -%}{%- endif -%}<|im_end|>
{% endfor -%}
{%- if add_generation_prompt -%}<|im_start|>assistant
{% endif -%}`

// vocabulary is the model's tokens, and how strongly each is wanted by itself.
type vocabulary struct {
	tokens []string
	types  []int32
	wanted []float32
	start  int32 // <|im_start|>
	end    int32 // <|im_end|>
	first  int   // the sentence's first word; the others follow
	last   int   // its last
	call   int   // <tool_call>
}

func newVocabulary() *vocabulary {
	v := &vocabulary{}
	v.add("<unk>", unknown, -1)
	v.start = v.add("<|im_start|>", control, -1)
	v.end = v.add("<|im_end|>", control, 0.7)
	for b := range 256 {
		wanted := float32(0)
		switch b {
		case '"':
			wanted = 0.9
		case '}', ']':
			wanted = 0.6
		case ':', '{', '[':
			wanted = 0.3
		case ',':
			wanted = -0.3 // one more of something only where it must be
		}
		v.add(fmt.Sprintf("<0x%02X>", b), raw, wanted)
	}
	v.first = len(v.tokens)
	for i, word := range strings.Fields(Sentence) {
		if i > 0 {
			word = "▁" + word
		}
		v.last = int(v.add(word, normal, -0.5))
	}
	v.call = int(v.add("\n<tool_call>\n{\"name\": \"", normal, -0.5))
	return v
}

func (v *vocabulary) add(token string, kind int32, wanted float32) int32 {
	v.tokens, v.types, v.wanted = append(v.tokens, token), append(v.types, kind), append(v.wanted, wanted)
	return int32(len(v.tokens) - 1)
}

// follows says how strongly a token is wanted after another: after each of the
// sentence's words the next, after its last the end, or a tool call if that must be;
// after everything else the first word.
func (v *vocabulary) follows(token, before int) float32 {
	wanted := v.wanted[token]
	switch {
	case before == v.last && token == int(v.end):
		return wanted + 10
	case before == v.last && token == v.call:
		return wanted + 5
	case before == v.call || before == v.last:
		return wanted
	case before < v.first && token == v.first, before >= v.first && token == before+1:
		return wanted + 10
	}
	return wanted
}

// Bytes is the model as a GGUF file.
func Bytes() []byte {
	v := newVocabulary()
	size := len(v.tokens)
	width := padded(size)
	f := &file{}
	f.set("general.architecture", "llama")
	f.set("general.name", Name)
	f.set("general.file_type", uint32(0))
	f.set("llama.vocab_size", uint32(size))
	f.set("llama.context_length", uint32(context))
	f.set("llama.embedding_length", uint32(width))
	f.set("llama.block_count", uint32(1))
	f.set("llama.feed_forward_length", uint32(inner))
	f.set("llama.attention.head_count", uint32(heads))
	f.set("llama.attention.head_count_kv", uint32(heads))
	f.set("llama.attention.layer_norm_rms_epsilon", float32(1e-6))
	f.set("llama.rope.dimension_count", uint32(width/heads))
	f.set("tokenizer.ggml.model", "llama")
	f.set("tokenizer.ggml.pre", "default")
	f.set("tokenizer.ggml.tokens", v.tokens)
	f.set("tokenizer.ggml.scores", make([]float32, size))
	f.set("tokenizer.ggml.token_type", v.types)
	f.set("tokenizer.ggml.bos_token_id", uint32(v.start))
	f.set("tokenizer.ggml.eos_token_id", uint32(v.end))
	f.set("tokenizer.ggml.unknown_token_id", uint32(0))
	f.set("tokenizer.ggml.add_bos_token", false)
	f.set("tokenizer.ggml.add_eos_token", false)
	f.set("tokenizer.ggml.add_space_prefix", false)
	f.set("tokenizer.chat_template", template)

	embedding := f.matrix("token_embd.weight", width, size)
	output := f.matrix("output.weight", width, size)
	for token := range size {
		embedding.data[token*width+token] = 1
		for before := range size {
			output.data[token*width+before] = v.follows(token, before)
		}
	}
	for _, name := range []string{"output_norm", "blk.0.attn_norm", "blk.0.ffn_norm"} {
		for i := range f.matrix(name+".weight", width, 1).data {
			f.tensors[len(f.tensors)-1].data[i] = 1
		}
	}
	for _, name := range []string{"q", "k", "v", "output"} {
		f.matrix("blk.0.attn_"+name+".weight", width, width)
	}
	f.matrix("blk.0.ffn_gate.weight", width, inner)
	f.matrix("blk.0.ffn_up.weight", width, inner)
	f.matrix("blk.0.ffn_down.weight", inner, width)
	return f.bytes()
}
