package main

import (
	"io"
	"text/template"

	"github.com/genway/genway/core/keys"
)

// welcome is what the first start prints: the keys, this once, and lines to paste.
var welcome = template.Must(template.New("welcome").Parse(`Genway is up. These are its first keys, one a group; they are shown this once:

  chat             {{.Chat}}
  messages         {{.Messages}}
  generatecontent  {{.GenerateContent}}
  internal         {{.Internal}}

Try them:

curl {{.HTTP}}/v1/chat/completions -H 'Authorization: Bearer {{.Chat}}' -H 'Content-Type: application/json' \
  -d '{"model":"{{.Text}}","messages":[{"role":"user","content":"Say hello."}]}'

curl {{.HTTP}}/v1/responses -H 'Authorization: Bearer {{.Chat}}' -H 'Content-Type: application/json' \
  -d '{"model":"{{.Text}}","input":"Say hello."}'

curl {{.HTTP}}/v1/messages -H 'x-api-key: {{.Messages}}' -H 'anthropic-version: 2023-06-01' -H 'Content-Type: application/json' \
  -d '{"model":"{{.Text}}","max_tokens":256,"messages":[{"role":"user","content":"Say hello."}]}'

curl {{.HTTP}}/v1beta/models/{{.Text}}:generateContent -H 'x-goog-api-key: {{.GenerateContent}}' -H 'Content-Type: application/json' \
  -d '{"contents":[{"parts":[{"text":"Say hello."}]}]}'

curl {{.HTTP}}/v1/images/generations -H 'Authorization: Bearer {{.Chat}}' -H 'Content-Type: application/json' \
  -d '{"model":"{{.Image}}","prompt":"A red square","size":"256x256"}'

grpcurl -plaintext -H 'authorization: Bearer {{.Internal}}' \
  -d '{"model":"{{.Text}}","messages":[{"role":"ROLE_USER","parts":[{"text":{"text":"Say hello."}}]}]}' \
  {{.GRPC}} genway.v1.Generation/GenerateText

More keys: genway keys create --group GROUP{{.DataFlag}}
`))

// welcomeBack is what later starts print.
var welcomeBack = template.Must(template.New("back").Parse(`Genway is up: JSON on {{.HTTP}}, gRPC on {{.GRPC}}.
Keys are managed with: genway keys list{{.DataFlag}}, genway keys create --group GROUP{{.DataFlag}}, genway keys revoke KEY{{.DataFlag}}
`))

type welcomeData struct {
	HTTP, GRPC                                string
	Text, Image                               string
	DataFlag                                  string
	Chat, Messages, GenerateContent, Internal string
}

func printWelcome(w io.Writer, data welcomeData, minted map[keys.Group]string) error {
	data.Chat, data.Messages = minted[keys.GroupChat], minted[keys.GroupMessages]
	data.GenerateContent, data.Internal = minted[keys.GroupGenerateContent], minted[keys.GroupInternal]
	return welcome.Execute(w, data)
}

func printWelcomeBack(w io.Writer, data welcomeData) error {
	return welcomeBack.Execute(w, data)
}
