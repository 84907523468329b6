package provider

var gemini = Provider{
	Name: "gemini", Title: "Gemini API", KeyEnv: "GEMINI_API_KEY",
	Endpoints: []Endpoint{{
		Kinds: []string{"generatecontent"}, Base: "https://generativelanguage.googleapis.com",
		Source: "google.golang.org/genai v1.77.0, api_client.go", Read: "2026-11-22",
	}},
}
