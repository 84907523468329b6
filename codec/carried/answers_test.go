package carried

import (
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// answer has what every answer has.
func answer() *genwayv1.GenerateTextResponse {
	return &genwayv1.GenerateTextResponse{
		Id: "answer_1", Model: "m", CreateTime: timestamppb.New(created),
		Candidates: []*genwayv1.Candidate{{
			Parts:      []*genwayv1.Part{text("It rains.")},
			StopReason: genwayv1.StopReason_STOP_REASON_END_TURN,
		}},
		Usage: &genwayv1.Usage{InputTokens: 100, OutputTokens: 50, TotalTokens: 150},
	}
}

func answerSubjects() []subject {
	var all []subject
	add := func(title, path string, put func(*genwayv1.GenerateTextResponse) proto.Message) {
		all = append(all, subject{title, path, func() (whole, target proto.Message) {
			r := answer()
			return r, put(r)
		}})
	}
	add("The answer", "", func(r *genwayv1.GenerateTextResponse) proto.Message { return r })
	add("Candidate", "candidates[0]", func(r *genwayv1.GenerateTextResponse) proto.Message { return r.Candidates[0] })
	add("Usage", "usage", func(r *genwayv1.GenerateTextResponse) proto.Message { return r.Usage })
	add("Prompt feedback", "prompt_feedback", func(r *genwayv1.GenerateTextResponse) proto.Message {
		r.Candidates = nil
		r.PromptFeedback = &genwayv1.PromptFeedback{}
		return r.PromptFeedback
	})
	for _, p := range []*genwayv1.Part{
		text("Rain."),
		{Kind: &genwayv1.Part_Thinking{Thinking: &genwayv1.Thinking{Text: "Hm."}}},
		{Kind: &genwayv1.Part_Refusal{Refusal: &genwayv1.Refusal{Text: "No."}}},
		{Kind: &genwayv1.Part_Image{Image: &genwayv1.Media{MediaType: "image/png", Source: &genwayv1.Media_Data{Data: []byte("png")}}}},
		{Kind: &genwayv1.Part_Audio{Audio: &genwayv1.Media{MediaType: "audio/wav", Source: &genwayv1.Media_Data{Data: []byte("wav")}}}},
		{Kind: &genwayv1.Part_File{File: &genwayv1.Media{MediaType: "application/pdf", Source: &genwayv1.Media_Data{Data: []byte("pdf")}}}},
		{Kind: &genwayv1.Part_Video{Video: &genwayv1.Media{MediaType: "video/mp4", Source: &genwayv1.Media_Data{Data: []byte("mp4")}}}},
		toolCall(),
	} {
		add("Part: "+oneofName(p), "candidates[0].parts[1]", func(r *genwayv1.GenerateTextResponse) proto.Message {
			own := proto.CloneOf(p)
			r.Candidates[0].Parts = append(r.Candidates[0].Parts, own)
			return own
		})
	}
	return all
}
